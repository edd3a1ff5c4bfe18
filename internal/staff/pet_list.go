package staff

import (
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// petCounts is the number of animals in each tab of the list.
type petCounts struct{ All, Available, Pending, Sold, None int64 }

// petCounts counts the animals in the selected category, or all animals, by status. It returns nil for a search or a
// selection, which are not counted. It also returns nil if the numbers are not known at the moment.
func (x *exchange) petCounts(filter shop.PetFilter) (*petCounts, error) {
	if filter.Query != "" || len(filter.IDs) > 0 {
		return nil, nil
	}
	var n shop.Inventory
	var err error
	if id := filter.CategoryID; id == nil {
		n, err = x.Service.Inventory(x.context())
	} else {
		var counts map[int64]shop.Inventory
		if counts, err = x.Service.CountCategories(x.context(), []int64{*id}); err == nil && counts == nil {
			return nil, nil
		}
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
