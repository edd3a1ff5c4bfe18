package staff

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// categoriesPage is the template data for the list of categories.
type categoriesPage struct {
	Rows     []categoryRow
	NextFrom int64 // the id of the last row, after which the next page begins
	HasMore  bool
	Name     string // the rejected name, shown again in the form
	Problem  string
}

type categoryRow struct {
	shop.Category
	Counts shop.Inventory
}

// categoryName returns the name of a category, or a text with its id if the category has no name.
func categoryName(c shop.Category, id int64) string {
	if c.Name != "" {
		return c.Name
	}
	return fmt.Sprintf("Category %d", id)
}

// UpToPending returns the position in the stacked bar where the "sold" segment begins. UpToSold returns the
// position where that segment ends.
func (r categoryRow) UpToPending() int64 { return r.Counts.Available + r.Counts.Pending }
func (r categoryRow) UpToSold() int64    { return r.UpToPending() + r.Counts.Sold }

func (p *Pages) categories(x *exchange) error { return x.showCategories(http.StatusOK, "", "") }

func (x *exchange) showCategories(status int, name, problem string) error {
	categories, err := x.Service.ListCategories(x.r.Context(), x.pageRequest())
	if err != nil {
		return err
	}
	var ids []int64
	for _, category := range categories.Items {
		ids = append(ids, category.ID)
	}
	counts, err := x.Service.CountCategories(x.r.Context(), ids)
	if err != nil {
		return err
	}
	page := categoriesPage{Name: name, Problem: problem, HasMore: categories.More}
	for _, category := range categories.Items {
		page.Rows = append(page.Rows, categoryRow{category, counts[category.ID]})
		page.NextFrom = category.ID
	}
	return x.show(status, "categories", "Categories", page)
}

func (p *Pages) addCategory(x *exchange) error {
	name := strings.TrimSpace(x.field("name"))
	_, err := once(x, func(by shop.Caller) (shop.Category, error) {
		if err := x.checkCategoryName(name); err != nil {
			return shop.Category{}, err
		}
		return p.Service.CreateCategory(x.r.Context(), by, name)
	})
	if err != nil {
		return showProblem(err, func(problem string) error { return x.showCategories(http.StatusUnprocessableEntity, name, problem) })
	}
	return x.redirect("/staff/categories")
}

// checkCategoryName fails with validation_failed if a category that is not in own already has the name. The API allows
// duplicate names, because programs tell categories apart by their ids, but people would not know which of them to
// choose.
func (x *exchange) checkCategoryName(name string, own ...int64) error {
	named, err := x.Service.CategoriesNamed(x.r.Context(), name)
	if err != nil {
		return err
	}
	for _, other := range named {
		if !slices.Contains(own, other.ID) {
			return shop.Errorf(shop.ValidationFailed, "There is already a category “%s” (no. %d); choose another name.", other.Name, other.ID)
		}
	}
	return nil
}

// saveCategory renames a category, unless someone has renamed the category since the page was shown.
func (p *Pages) saveCategory(x *exchange, id int64) error {
	was := shop.Category{ID: id, Name: x.field("was-name")}
	wanted := shop.Category{ID: id, Name: strings.TrimSpace(x.field("name"))}
	var err error
	if was.Name != wanted.Name {
		err = x.checkCategoryName(wanted.Name, id)
	}
	if err == nil {
		err = x.putCategory(wanted, shop.PutCondition{Match: func(now shop.Category) bool { return now == was }})
	}
	if err != nil && shop.AsError(err).Code == shop.PreconditionFailed {
		now, err := p.Service.Category(x.r.Context(), id)
		if err != nil {
			return err
		}
		return x.showCategories(http.StatusConflict, "", fmt.Sprintf(
			"Someone else has renamed category %d to “%s”; your change to “%s” was not saved.", id, now.Name, wanted.Name))
	}
	if err != nil {
		return showProblem(err, func(problem string) error { return x.showCategories(http.StatusUnprocessableEntity, "", problem) })
	}
	if was.Name != "" && was != wanted { // giving a first name cannot be undone, because a name cannot be removed
		x.flashAbout(categoryTopic(id), undoOfCategoryChange(was, wanted.Name), "%s is now called %s.", was.Name, wanted.Name)
	}
	return x.redirect("/staff/categories")
}

// putCategory renames or creates a category once, if the condition allows it.
func (x *exchange) putCategory(category shop.Category, condition shop.PutCondition) error {
	_, err := once(x, func(by shop.Caller) (bool, error) {
		return x.Service.PutCategory(x.r.Context(), by, category, condition)
	})
	return err
}

// deleteCategory removes a category, unless someone has renamed it since the page was shown. It asks the
// user first if the category has no name, because the pages cannot create such a category again.
func (p *Pages) deleteCategory(x *exchange, id int64) error {
	was := shop.Category{ID: id, Name: x.field("was-name")}
	if was.Name == "" && !x.confirmed() {
		return x.ask(question{
			Title: fmt.Sprintf("Remove category %d?", id), Text: "This can’t be undone: the category has no name to create it again with.",
			Button: "Remove", Danger: true, Back: "/staff/categories",
		})
	}
	err := onceOnly(x, func(by shop.Caller) error {
		return p.Service.DeleteCategory(x.r.Context(), by, id, func(now shop.Category) bool { return now == was })
	})
	if err != nil {
		err = explainConflict(err, "Someone else has renamed category %d in the meantime, so it was not removed.", id)
		return showProblem(err, func(problem string) error { return x.showCategories(http.StatusConflict, "", problem) })
	}
	if was.Name == "" {
		x.flashAbout(categoryTopic(id), nil, "Category %d was removed.", id)
	} else {
		x.flashAbout(categoryTopic(id), undoOfCategoryChange(was, ""), "%s was removed.", was.Name)
	}
	return x.redirect("/staff/categories")
}

// undoOfCategoryChange returns the request that gives a category its former name back. The parameter now is the
// category's new name, or "" if the category was removed.
func undoOfCategoryChange(was shop.Category, now string) *undo {
	return &undo{"/staff/categories/" + strconv.FormatInt(was.ID, 10) + "/undo", map[string]string{"name": was.Name, "was-name": now}}
}

// undoCategoryChange gives a renamed category its former name back, or creates a removed category again. It changes
// nothing if the category has changed since.
func (p *Pages) undoCategoryChange(x *exchange, id int64) error {
	category, was := shop.Category{ID: id, Name: x.field("name")}, x.field("was-name")
	// A removed category is created again only if it does not exist.
	condition := shop.PutCondition{NoneMatch: func(shop.Category) bool { return false }}
	if was != "" {
		condition = shop.PutCondition{Match: func(now shop.Category) bool { return now.Name == was }}
	}
	err := x.checkCategoryName(category.Name, id)
	if err == nil {
		err = x.putCategory(category, condition)
	}
	if err == nil {
		x.flashAbout(categoryTopic(id), nil, "%s is as before.", category.Name)
	}
	return x.finishInPlace(undoError(err, fmt.Sprint("category ", id)), "/staff/categories")
}
