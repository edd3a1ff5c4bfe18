package staff

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"animalstore/internal/shop"
)

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
	sortCategories(page.Items)
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

// sortCategories sorts categories by name, in any letter case and without regard to accents, so that the order suits
// every language. Those without a name come last.
func sortCategories(categories []shop.Category) {
	slices.SortStableFunc(categories, func(a, b shop.Category) int {
		if (a.Name == "") != (b.Name == "") {
			return cmp.Compare(b.Name, a.Name)
		}
		return cmp.Or(cmp.Compare(shop.FoldSearch(a.Name), shop.FoldSearch(b.Name)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
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

// Name returns the name of the category with this id.
func (c categoryOptions) Name(id string) string {
	for _, category := range c.Options {
		if strconv.FormatInt(category.ID, 10) == id {
			return categoryName(category, category.ID)
		}
	}
	return "Category " + id
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
	named, err := x.Service.CategoriesNamed(x.r.Context(), name)
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
		if found, err = p.Service.FindCategories(x.r.Context(), x.caller(), text, 20); err != nil {
			return err
		}
	}
	return x.showFragment("category-suggestions", found.Items)
}
