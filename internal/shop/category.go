package shop

import (
	"context"
	"strings"
)

// Category groups animals. A category that was created together with an animal has no name until a client
// sets one.
type Category struct {
	ID   int64  `json:"id"`
	Name string `json:"name,omitempty"`
}

// ensureCategory creates the category with the given id if it does not exist. If Options.KnownCategories is
// set, ensureCategory fails with validation_failed instead.
func (s *Service) ensureCategory(tx *eventTx, id int64) error {
	if !s.knownCategories {
		_, err := tx.EnsureCategories(id)
		return err
	}
	problems, err := s.categoryProblems(tx, id)
	if err != nil {
		return err
	}
	return problems.Err()
}

// CategoryProblems checks whether an animal may belong to the category with the given id. It returns Problems
// instead of an error, so that the caller can report them together with other problems.
func (s *Service) CategoryProblems(ctx context.Context, id int64) (Problems, error) {
	return read(ctx, s, Reading{}, func(tx ReadTx) (Problems, error) { return s.categoryProblems(tx, id) })
}

func (s *Service) categoryProblems(tx ReadTx, id int64) (p Problems, err error) {
	if !s.knownCategories {
		return nil, nil
	}
	_, found, err := tx.Category(id)
	if err == nil && !found {
		p.Add("categoryId", unknownCategory)
	}
	return p, err
}

const unknownCategory = "must be the id of an existing category"

// ListCategories returns one page of categories, sorted by ascending id.
func (s *Service) ListCategories(ctx context.Context, page PageRequest) (Page[Category], error) {
	return read(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) (Page[Category], error) {
		categories, err := tx.Categories(page.oneMore())
		return pageOf(page.Limit, categories, err)
	})
}

// Category returns the category with the given id. It fails with not_found if there is none.
func (s *Service) Category(ctx context.Context, id int64) (Category, error) {
	return read(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) (Category, error) { return existingCategory(tx, id) })
}

func existingCategory(tx ReadTx, id int64) (Category, error) {
	category, found, err := tx.Category(id)
	if err == nil && !found {
		err = Errorf(NotFound, "There is no category with the id %d; list the categories to find an existing one.", id)
	}
	return category, err
}

// CategoryKey returns the same text for all names of categories that differ only in letter case or in the spaces
// around them.
func CategoryKey(name string) string { return Fold(strings.Trim(name, " ")) }

// CategoriesNamed returns the categories with the given name. Clients may have created several. It ignores letter case
// and spaces around the name. If there are many, it returns only some of them, including the one with the lowest id.
func (s *Service) CategoriesNamed(ctx context.Context, name string) ([]Category, error) {
	const most = 10
	return read(ctx, s, Reading{}, func(tx ReadTx) ([]Category, error) { return tx.CategoriesNamed([]string{name}, most) })
}

func checkCategoryName(name string) error {
	var p Problems
	if reason := TextProblem(name); reason != "" {
		p.Add("name", reason)
	}
	return p.Err()
}

// CreateCategory adds a category and assigns an id to it. It fails with validation_failed if the name is
// invalid.
func (s *Service) CreateCategory(ctx context.Context, by Caller, name string) (Category, error) {
	if err := checkCategoryName(name); err != nil {
		return Category{}, err
	}
	return write(ctx, s, Writing{By: by}, func(tx *eventTx) (Category, error) {
		ids, err := tx.AssignCategoryIDs(1)
		if err != nil {
			return Category{}, err
		}
		category := Category{ID: ids[0], Name: name}
		return category, tx.InsertCategories(category)
	})
}

// PutCondition restricts what PutCategory may do. The zero value allows everything.
type PutCondition struct {
	// Match must hold for the existing category. Unless it is nil, PutCategory only renames an existing
	// category and fails if there is none.
	Match Precondition[Category]
	// NoneMatch must hold for the existing category. A category that does not exist is created.
	NoneMatch Precondition[Category]
}

// check fails with precondition_failed if the condition does not allow PutCategory to rename or create the
// category.
func (c PutCondition) check(stored Category, found bool, id int64) error {
	switch {
	case found && !c.NoneMatch.holds(stored):
		return Errorf(PreconditionFailed, "Category %d exists in a state that If-None-Match excludes; leave out If-None-Match to rename it.", id)
	case found:
		return c.Match.check(stored)
	case c.Match != nil:
		return Errorf(PreconditionFailed, "There is no category with the id %d to rename; leave out If-Match to create it.", id)
	default:
		return nil
	}
}

// PutCategory sets the name of a category and creates the category if it does not exist. It fails with
// validation_failed if the name is invalid, and with precondition_failed if the condition does not allow the
// change.
func (s *Service) PutCategory(ctx context.Context, by Caller, category Category, condition PutCondition) (created bool, err error) {
	if err := checkCategoryName(category.Name); err != nil {
		return false, err
	}
	return write(ctx, s, Writing{By: by}, func(tx *eventTx) (bool, error) {
		before, found, err := tx.Category(category.ID)
		if err != nil {
			return false, err
		}
		if err := condition.check(before, found, category.ID); err != nil || before == category {
			return false, err
		}
		if !found {
			return true, tx.InsertCategories(category)
		}
		return false, tx.UpdateCategory(before, category)
	})
}

// DeleteCategory removes a category. It fails with not_found if there is none, with precondition_failed if
// match does not hold, and with category_in_use if animals still belong to the category.
func (s *Service) DeleteCategory(ctx context.Context, by Caller, id int64, match Precondition[Category]) error {
	return s.writeOnly(ctx, Writing{By: by}, func(tx *eventTx) error {
		category, err := existingCategory(tx, id)
		if err == nil {
			err = match.check(category)
		}
		if err != nil {
			return err
		}
		inUse, err := tx.CategoryInUse(id)
		if err != nil {
			return err
		}
		if inUse {
			return Errorf(CategoryInUse, "Category %d still has animals; move or remove them first.", id)
		}
		return tx.DeleteCategory(category)
	})
}

// CategoryReader contains the methods of ReadTx that read categories.
type CategoryReader interface {
	// Category returns the category with the given id and whether it exists.
	Category(id int64) (Category, bool, error)
	// Categories returns at most page.Limit categories, sorted by ascending id.
	Categories(page PageRequest) ([]Category, error)
	// CategoriesByID returns the categories with the given ids in no particular order. It skips unknown
	// ids.
	CategoriesByID(ids []int64) ([]Category, error)
	// CategoriesNamed returns categories with the given names, sorted by ascending id. For each name, it
	// returns the first categories that have exactly this name, and the first categories whose names have the
	// same CategoryKey. It returns at least limit of each, or all if there are fewer. Its work does not depend
	// on the number of other categories.
	CategoriesNamed(names []string, limit int) ([]Category, error)
	// CategoryInUse reports whether any animal belongs to the category with the given id.
	CategoryInUse(id int64) (bool, error)
}

// CategoryMutations contains the methods of Mutations that change categories.
type CategoryMutations interface {
	// EnsureCategories creates a category without a name for each given id that no category has yet. It
	// returns the ids of the categories that it created. The given ids must be distinct and ascending.
	EnsureCategories(ids ...int64) (created []int64, err error)
	// InsertCategories adds categories. Their ids must differ from each other and from the ids of existing categories.
	InsertCategories(...Category) error
	// UpdateCategory changes the name of a category.
	UpdateCategory(before, after Category) error
	// DeleteCategory removes a category, which must not contain any animals.
	DeleteCategory(Category) error
}

// CategoryBookkeeping contains the methods of Bookkeeping that assign ids to categories.
type CategoryBookkeeping interface {
	// AssignCategoryIDs returns n ascending ids that no category has. They are larger than every id that
	// AssignCategoryIDs returned before.
	AssignCategoryIDs(n int) ([]int64, error)
	// LockCategoryIDs makes other transactions wait for this one before they assign ids to categories. A long
	// transaction that was rolled back should call it first when it runs again, because shorter transactions might
	// otherwise overtake it again.
	LockCategoryIDs() error
}
