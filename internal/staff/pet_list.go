package staff

import (
	"regexp"
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

// maxCategoryOptions is the maximum number of categories in a drop-down list. If there are more, users type
// the category's name.
const maxCategoryOptions = 200

// categoryOptions holds the categories that a form offers.
type categoryOptions struct {
	Options []shop.Category
	TooMany bool
}

// categoryOptions returns the categories for a form. If there are too many for a drop-down list, it returns only some
// of them, including the one with the selected id.
func (x *exchange) categoryOptions(selected string) (categoryOptions, error) {
	page, err := x.Service.ListCategories(x.r.Context(), shop.PageRequest{Limit: maxCategoryOptions})
	options := categoryOptions{page.Items, page.More}
	id, invalid := strconv.ParseInt(selected, 10, 64)
	if err != nil || !options.TooMany || invalid != nil || options.Has(selected) {
		return options, err
	}
	found, err := x.Service.CategoriesByID(x.r.Context(), []int64{id})
	if category, ok := found[id]; ok {
		options.Options = append(options.Options, category)
	}
	return options, err
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

// Text returns the text that a field with suggestions shows for the category with this id.
func (c categoryOptions) Text(id string) string {
	for _, category := range c.Options {
		if strconv.FormatInt(category.ID, 10) == id {
			return categoryText(category)
		}
	}
	return id
}

// categoryText returns the name of a category with its id, which tells categories of the same name apart, or
// the id alone if it has no name.
func categoryText(c shop.Category) string {
	id := strconv.FormatInt(c.ID, 10)
	if c.Name == "" {
		return id
	}
	return c.Name + " (" + id + ")"
}

// textWithID matches a text that categoryText returned.
var textWithID = regexp.MustCompile(`^(.*) \((-?\d+)\)$`)

// resolveCategory returns the id of the category that a text stands for: an id, a name or both, as in categoryText.
// It fails with validation_failed if no category has the name, but does not check a text that is only an id.
func (x *exchange) resolveCategory(text string) (int64, error) {
	if id, err := strconv.ParseInt(text, 10, 64); err == nil {
		return id, nil
	}
	if match := textWithID.FindStringSubmatch(text); match != nil {
		if id, err := strconv.ParseInt(match[2], 10, 64); err == nil {
			found, err := x.Service.CategoriesByID(x.r.Context(), []int64{id})
			if err != nil || found[id].Name == match[1] {
				return id, err
			}
		}
	}
	id, exists, err := x.categoryNamed(text)
	if err == nil && !exists {
		err = shop.Errorf(shop.ValidationFailed, "There is no category called “%s”.", text)
	}
	return id, err
}

// categoryNamed returns the id of the category with the given name, in any letter case, and whether there is one. If
// there are several, it returns the lowest id.
func (x *exchange) categoryNamed(name string) (id int64, exists bool, err error) {
	named, err := x.Service.CategoriesNamed(x.context(), name)
	for _, category := range named {
		if !exists || category.ID < id {
			id, exists = category.ID, true
		}
	}
	return id, exists, err
}

// suggestCategories responds with suggestions for a field in which a user types the name of a category.
func (p *Pages) suggestCategories(x *exchange) error {
	text := x.r.URL.Query().Get("category")
	var found shop.Page[shop.Category]
	if shop.TextProblem(text) == "" {
		var err error
		if found, err = p.Service.FindCategories(x.context(), text, 20); err != nil {
			return err
		}
	}
	return x.showFragment("category-suggestions", found.Items)
}
