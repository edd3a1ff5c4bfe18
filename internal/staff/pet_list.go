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
	pets, err := p.Service.ListPetViews(x.r.Context(), x.caller(), list)
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
	pets, err := p.Service.ListPetViews(x.r.Context(), x.caller(), shop.PetList{PetFilter: filter, PageRequest: shop.PageRequest{Limit: pageSize}})
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

// petCounts is the number of animals in each tab of the list.
type petCounts struct{ All, Available, Pending, Sold, None int64 }

// petCounts counts the animals in the selected category, or all animals, by status. It returns nil for a search or a
// selection, which are not counted.
func (x *exchange) petCounts(filter shop.PetFilter) (*petCounts, error) {
	if filter.Query != "" || len(filter.IDs) > 0 {
		return nil, nil
	}
	var n shop.Inventory
	var err error
	if id := filter.CategoryID; id == nil {
		n, err = x.Service.Inventory(x.r.Context())
	} else {
		var counts map[int64]shop.Inventory
		counts, err = x.Service.CountCategories(x.r.Context(), []int64{*id})
		n = counts[*id]
	}
	if err != nil {
		if code := shop.AsError(err).Code; code == shop.RateLimited || code == shop.Unavailable {
			return nil, nil // the list can be shown without the numbers
		}
		return nil, err
	}
	return &petCounts{n.Total(), n.Available, n.Pending, n.Sold, n.Unspecified}, nil
}

// petTab is a choice in the list's filter by status.
type petTab struct {
	Value, Label, ID string
	Checked          bool
	Count            int64
	Counted          bool // whether the animals were counted
}

// Tabs returns the choices for the status, with the number of animals for each.
func (p petsPage) Tabs() []petTab {
	tabs := []petTab{
		{Value: "", Label: "All", ID: "all"}, {Value: "available", Label: "Available", ID: "available"},
		{Value: "pending", Label: "Pending", ID: "pending"}, {Value: "sold", Label: "Sold", ID: "sold"},
		{Value: noStatus, Label: "No status", ID: noStatus},
	}
	for i := range tabs {
		tabs[i].Checked = tabs[i].Value == p.Query.Status
		if p.Counts != nil {
			c := p.Counts
			tabs[i].Count, tabs[i].Counted = []int64{c.All, c.Available, c.Pending, c.Sold, c.None}[i], true
		}
	}
	return tabs
}

// countPets responds with the current numbers for the tabs.
func (p *Pages) countPets(x *exchange) error {
	query, filter, err := x.petQuery()
	if err != nil {
		return err
	}
	page := petsPage{Query: query}
	if page.Counts, err = x.petCounts(filter); err != nil {
		return err
	}
	return x.showFragment("pet-counts", page)
}

// petQuery reads the filters from the address. In addition to parsePetQuery, it accepts the name of a category.
func (x *exchange) petQuery() (petQuery, shop.PetFilter, error) {
	values := x.r.URL.Query()
	text := strings.TrimSpace(values.Get("category"))
	if _, err := strconv.ParseInt(text, 10, 64); text == "" || err == nil {
		query, filter := parsePetQuery(values)
		return query, filter, nil
	}
	id, err := x.resolveCategory(text)
	if err == nil {
		values.Set("category", strconv.FormatInt(id, 10))
		query, filter := parsePetQuery(values)
		return query, filter, nil
	}
	values.Del("category")
	query, filter := parsePetQuery(values)
	query.Category = text
	if query.Problem = userMessage(err); query.Problem == "" {
		return query, filter, err
	}
	return query, filter, nil
}
