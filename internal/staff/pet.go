package staff

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// maxCategoryOptions is the maximum number of categories in a drop-down list. If there are more, users type
// the category's number.
const maxCategoryOptions = 200

// petQuery holds the catalogue's filters as they were entered in the form.
type petQuery struct {
	Name     string
	Status   string
	Category string
	Problem  string
}

// parsePetQuery reads the filters from a query string. It ignores an invalid filter and describes the mistake
// in Problem.
func parsePetQuery(values url.Values) (petQuery, shop.PetFilter) {
	q := petQuery{Name: strings.TrimSpace(values.Get("name")), Status: values.Get("status"), Category: strings.TrimSpace(values.Get("category"))}
	var filter shop.PetFilter
	if q.Name != "" {
		if reason := shop.TextProblem(q.Name); reason != "" {
			q.Problem = "The name " + reason + "."
		} else {
			filter.Query = q.Name
		}
	}
	if q.Status != "" {
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
	return q, filter
}

// Next returns the path of the page that begins after the given animal. The path keeps the filters.
func (q petQuery) Next(from int64) string {
	return q.path(url.Values{"from": {strconv.FormatInt(from, 10)}})
}

// Path returns the path of the first page with these filters.
func (q petQuery) Path() string { return q.path(url.Values{}) }

func (q petQuery) path(values url.Values) string {
	for name, value := range map[string]string{"name": q.Name, "status": q.Status, "category": q.Category} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return "/staff/pets?" + values.Encode()
}

// petsPage is the template data for the catalogue.
type petsPage struct {
	Query      petQuery
	Rows       []shop.PetView
	NextFrom   int64 // the position after which the next page begins, or 0 if this is the last page
	Newest     int64 // the id of the newest animal on the first page
	NotFirst   bool  // whether there are newer animals that this page does not show
	Categories categoryOptions
	Add        petForm
}

// categoryOptions holds the categories that a drop-down list offers.
type categoryOptions struct {
	Options []shop.Category
	TooMany bool
}

func (x *exchange) categoryOptions() (categoryOptions, error) {
	page, err := x.Service.ListCategories(x.r.Context(), shop.PageRequest{Limit: maxCategoryOptions})
	return categoryOptions{page.Items, page.More}, err
}

// Has reports whether the category with this id is among the options. It also returns true for an empty id,
// which means that no category is selected.
func (c categoryOptions) Has(id string) bool {
	for _, category := range c.Options {
		if strconv.FormatInt(category.ID, 10) == id {
			return true
		}
	}
	return id == ""
}

func (p *Pages) pets(x *exchange) error {
	query, filter := parsePetQuery(x.r.URL.Query())
	list := shop.PetList{PetFilter: filter, PageRequest: x.pageRequest()}
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
	if page.Categories, err = x.categoryOptions(); err != nil {
		return err
	}
	page.Add.Categories = page.Categories
	return x.show(http.StatusOK, "pets", "Animals", page)
}

// newPets responds with the animals that are newer than the newest one on the page.
func (p *Pages) newPets(x *exchange) error {
	query, filter := parsePetQuery(x.r.URL.Query())
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
	// If there are too many new animals, the list would have a gap, so the page shows a link instead.
	stopped := pets.Stopped != nil && newest > 0 && *pets.Stopped > newest
	if len(page.Rows) == pageSize && pets.More || stopped {
		page.Rows, page.NotFirst = nil, true
	}
	return x.showFragment("new-pets", page)
}
