package shop

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// importCategory is a category that a row of an import refers to.
type importCategory struct {
	Category
	key    string // the CategoryKey of the name
	exists bool   // whether the store contains the category
	assign bool   // whether the category is new and must be assigned an id
}

// importCategories contains the categories that the rows of an import refer to. If a category does not exist,
// find plans it and create creates it.
type importCategories struct {
	known  bool // whether only existing categories are allowed
	byID   map[int64]*importCategory
	byName map[string][]*importCategory // the categories with exactly this name: all, or more than maxNamedIDs
	byKey  map[string][]*importCategory // the categories with this CategoryKey: all, or more than maxNamedIDs
	missed []*importCategory            // the categories to create, in the order of the rows
}

// importCategories reads the categories that the rows refer to, and those of the stored animals that the rows
// update. If no row has the name of a category and unknown ids are allowed, it reads nothing, because
// EnsureCategories finds out which ids are missing.
func (s *Service) importCategories(tx ReadTx, rows []ImportRow, stored map[int64]Pet) (*importCategories, error) {
	found := &importCategories{
		known: s.knownCategories, byID: map[int64]*importCategory{}, byName: map[string][]*importCategory{}, byKey: map[string][]*importCategory{},
	}
	var ids []int64
	names := map[string]bool{}
	for _, row := range rows {
		if row.unreadable() || row.ProfileOnly {
			continue
		}
		if !row.ByName {
			ids = append(ids, row.CategoryID)
		}
		if row.Category != "" {
			names[row.categoryName()] = true
		}
	}
	if !s.knownCategories && len(names) == 0 {
		return found, nil
	}
	for _, pet := range stored {
		ids = append(ids, pet.CategoryID)
	}
	slices.Sort(ids)
	categories, err := tx.CategoriesByID(slices.Compact(ids))
	if err == nil && len(names) > 0 {
		var named []Category
		named, err = tx.CategoriesNamed(slices.Sorted(maps.Keys(names)), maxNamedIDs+1)
		categories = append(categories, named...)
	}
	slices.SortFunc(categories, func(a, b Category) int { return cmp.Compare(a.ID, b.ID) })
	for _, category := range categories {
		if found.byID[category.ID] == nil {
			found.add(&importCategory{Category: category, key: CategoryKey(category.Name), exists: true})
		}
	}
	return found, err
}

func (c *importCategories) add(category *importCategory) *importCategory {
	if !category.assign {
		c.byID[category.ID] = category
	}
	if category.Name != "" {
		c.byName[category.Name] = append(c.byName[category.Name], category)
		c.byKey[category.key] = append(c.byKey[category.key], category)
	}
	if !category.exists {
		c.missed = append(c.missed, category)
	}
	return category
}

// find returns the category of a row. If there is none, it plans a new category or, if that is not allowed, adds a
// problem to the row. An exported row has both the id and the name of the category. If the user has changed only one of
// them, find ignores the other. before is the stored animal that the row updates.
func (c *importCategories) find(row *ImportRow, before Pet) *importCategory {
	name := row.categoryName()
	if row.Problems.has("categoryId") || row.Problems.has("category") {
		return nil
	}
	byName := row.ByName
	if before.ID != 0 && name != "" && !byName {
		if same := c.hasKey(before.CategoryID, row.categoryKey); row.CategoryID == before.CategoryID {
			byName = !same
		} else if same {
			name = ""
		}
	}
	if byName {
		return c.findByName(row, name)
	}
	category := c.byID[row.CategoryID]
	switch {
	case category == nil && c.known:
		row.Problems.Add("categoryId", unknownCategory)
	case name == "" && category != nil:
		return category
	case name == "":
		return c.add(&importCategory{Category: Category{ID: row.CategoryID}})
	case c.hasKey(row.CategoryID, row.categoryKey):
		return category
	case category != nil && category.Name == "":
		row.Problems.Add("category", fmt.Sprintf("does not match categoryId: category %d has no name; remove one of the two", category.ID))
	case category != nil:
		row.Problems.Add("category", fmt.Sprintf("does not match categoryId: category %d is %q; remove one of the two", category.ID, category.Name))
	case len(c.byKey[row.categoryKey]) > 0:
		row.Problems.Add("category", fmt.Sprintf("does not match categoryId: there is another category %q; remove one of the two", name))
	default:
		return c.add(&importCategory{Category: Category{ID: row.CategoryID, Name: name}, key: row.categoryKey})
	}
	return nil
}

// hasKey reports whether there is a category with the given id and CategoryKey.
func (c *importCategories) hasKey(id int64, key string) bool {
	category := c.byID[id]
	return category != nil && category.key == key
}

// findByName returns the category with the given name. It prefers a category with exactly this name to
// categories whose names differ in letter case. If there is none, it plans a new category. If that is not
// allowed, or if there are several, it adds a problem to the row and returns nil.
func (c *importCategories) findByName(row *ImportRow, name string) *importCategory {
	candidates := c.byName[name]
	if len(candidates) == 0 {
		candidates = c.byKey[row.categoryKey]
	}
	switch {
	case len(candidates) == 1:
		return candidates[0]
	case len(candidates) > 1:
		row.Problems.Add("category", "is ambiguous: "+joinIDs(candidates)+" have this name; give the categoryId")
	case c.known:
		row.Problems.Add("category", "must be the name of an existing category; add the category first, or correct the name")
	default:
		return c.add(&importCategory{Category: Category{Name: name}, key: row.categoryKey, assign: true})
	}
	return nil
}

// maxNamedIDs is the maximum number of categories whose ids an error message lists.
const maxNamedIDs = 5

// joinIDs returns a text such as "categories 3, 7".
func joinIDs(categories []*importCategory) string {
	var ids []string
	for _, category := range categories[:min(len(categories), maxNamedIDs)] {
		ids = append(ids, strconv.FormatInt(category.ID, 10))
	}
	text := "categories " + strings.Join(ids, ", ")
	if len(categories) > maxNamedIDs {
		text += " and others"
	}
	return text
}

// assigns reports whether create is going to assign ids to categories.
func (c *importCategories) assigns() bool {
	return slices.ContainsFunc(c.missed, func(category *importCategory) bool { return category.assign })
}

// create creates the missing categories. Those with an id come first, so that their ids are not assigned to other
// categories. Categories are created in ascending order, so that imports seldom deadlock. If they do, for example because
// a repeated import has locked the last assigned id first, the store retries one of them.
func (c *importCategories) create(tx *eventTx) error {
	var unnamed []int64
	var named []Category
	var assign []*importCategory
	for _, category := range c.missed {
		switch {
		case category.assign:
			assign = append(assign, category)
		case category.Name != "":
			named = append(named, category.Category)
		default:
			unnamed = append(unnamed, category.ID)
		}
	}
	slices.Sort(unnamed)
	if _, err := tx.EnsureCategories(unnamed...); err != nil {
		return err
	}
	slices.SortFunc(named, func(a, b Category) int { return cmp.Compare(a.ID, b.ID) })
	if err := tx.InsertCategories(named...); err != nil {
		return err
	}
	ids, err := tx.AssignCategoryIDs(len(assign))
	if err != nil {
		return err
	}
	named = named[:0]
	for i, category := range assign {
		category.ID = ids[i]
		named = append(named, category.Category)
	}
	return tx.InsertCategories(named...)
}
