package staff

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// petQuery holds the catalogue's filters as they were entered in the form.
type petQuery struct {
	Name     string
	Status   string
	Category string
	Sort     string  // oldestFirst, or "" for the newest first
	IDs      []int64 // if not empty, the list shows only these animals
	Problem  string
}

// oldestFirst is the value of the sort parameter that shows the oldest items first. Both database engines can read a
// page in either order from an index.
const oldestFirst = "oldest"

// parsePetQuery reads the filters from a query string. It ignores an invalid filter and describes the mistake
// in Problem.
func parsePetQuery(values url.Values) (petQuery, shop.PetFilter) {
	q := petQuery{Name: strings.TrimSpace(values.Get("name")), Status: values.Get("status"), Category: strings.TrimSpace(values.Get("category"))}
	if values.Get("sort") == oldestFirst {
		q.Sort = oldestFirst
	}
	var filter shop.PetFilter
	if q.Name != "" {
		if reason := shop.TextProblem(q.Name); reason != "" {
			q.Problem = "The name " + reason + "."
		} else {
			filter.Query = q.Name
		}
	}
	if q.Status == noStatus {
		filter.NoStatus = true
	} else if q.Status != "" {
		if reason := shop.StatusProblem(q.Status); reason != "" {
			q.Problem = "The status " + reason + "."
		} else {
			filter.Status = shop.Status(q.Status)
		}
	}
	if q.Category != "" {
		if id, err := strconv.ParseInt(q.Category, 10, 64); err != nil {
			q.Problem = "The category must be a number."
		} else {
			filter.CategoryID = &id
		}
	}
	for _, text := range values["id"] {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil && len(q.IDs) < maxBulk {
			q.IDs = append(q.IDs, id)
		}
	}
	filter.IDs = q.IDs
	return q, filter
}

// Next returns the path of the page that begins after the given animal. The path keeps the filters.
func (q petQuery) Next(from int64) string {
	return q.path(url.Values{"from": {strconv.FormatInt(from, 10)}})
}

// Path returns the path of the first page with these filters.
func (q petQuery) Path() string { return q.path(url.Values{}) }

func (q petQuery) path(values url.Values) string {
	for name, value := range map[string]string{"name": q.Name, "status": q.Status, "category": q.Category, "sort": q.Sort} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for _, id := range q.IDs {
		values.Add("id", strconv.FormatInt(id, 10))
	}
	return "/staff/pets?" + values.Encode()
}

// petsPage is the template data for the catalogue.
type petsPage struct {
	Query      petQuery
	Rows       []shop.PetView
	NextFrom   int64 // the position after which the next page begins, or 0 if this is the last page
	Newest     int64 // the id of the newest animal on the first page
	NotFirst   bool  // whether this is not the first page
	Counts     *petCounts
	Categories categoryOptions
	Add        petForm
}

func (p *Pages) pets(x *exchange) error {
	query, filter, err := x.petQuery()
	if err != nil {
		return err
	}
	list := shop.PetList{PetFilter: filter, PageRequest: x.pageRequest(), OldestFirst: query.Sort == oldestFirst}
	pets, err := p.Service.ListPetViews(x.context(), list)
	if err != nil {
		return err
	}
	page := petsPage{Query: query, Rows: pets.Items, NotFirst: list.After != nil}
	if pets.More {
		page.NextFrom = pets.Next(func(v shop.PetView) int64 { return v.ID })
	}
	if len(pets.Items) > 0 && list.After == nil {
		page.Newest = pets.Items[0].ID
	}
	if x.partial() && list.After != nil { // htmx appends these rows to the current page
		return x.showFragment("pet-rows", page)
	}
	if page.Categories, err = x.categoryOptions(query.Category); err != nil {
		return err
	}
	page.Add.Categories = page.Categories
	if page.Counts, err = x.petCounts(filter); err != nil {
		return err
	}
	return x.show(http.StatusOK, "pets", "Animals", page)
}

// newPets responds with the animals that are newer than the newest one on the page.
func (p *Pages) newPets(x *exchange) error {
	query, filter, err := x.petQuery()
	if err != nil {
		return err
	}
	pets, err := p.Service.ListPetViews(x.context(), shop.PetList{PetFilter: filter, PageRequest: shop.PageRequest{Limit: pageSize}})
	if err != nil {
		return err
	}
	newest, _ := strconv.ParseInt(x.r.URL.Query().Get("newest"), 10, 64) // 0 if the page showed no animals
	page := petsPage{Query: query, Newest: newest}
	for _, pet := range pets.Items {
		if pet.ID > newest {
			page.Rows = append(page.Rows, pet)
			page.Newest = max(page.Newest, pet.ID)
		}
	}
	// If there are too many new animals, the list would have a gap. The page then shows a link instead.
	stopped := pets.Stopped != nil && newest > 0 && *pets.Stopped > newest
	if len(page.Rows) == pageSize && pets.More || stopped {
		page.Rows, page.NotFirst = nil, true
	}
	return x.showFragment("new-pets", page)
}
