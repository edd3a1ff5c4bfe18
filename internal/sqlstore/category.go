package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"animalstore/internal/shop"
)

const categoryColumns = "id, name"

func scanCategory(scan Scanner) (shop.Category, error) {
	var category shop.Category
	var name sql.Null[string]
	err := scan(&category.ID, &name)
	category.Name = name.V
	return category, err
}

func (t *tx) Category(id int64) (shop.Category, bool, error) {
	return one(t, scanCategory, "SELECT "+categoryColumns+" FROM categories WHERE id = $1", id)
}

func (t *tx) Categories(w shop.PageRequest) ([]shop.Category, error) {
	var c conditions
	query, args := c.page("SELECT "+categoryColumns+" FROM categories", w, "id > %s", "id")
	return all(t, scanCategory, query, args...)
}

func (t *tx) CategoriesByID(ids []int64) ([]shop.Category, error) {
	return allIn(t, ids, scanCategory, "SELECT "+categoryColumns+" FROM categories WHERE id IN (%s)")
}

func (t *tx) CategoryInUse(id int64) (bool, error) {
	_, found, err := one(t, scanValue[int64], "SELECT id FROM pets WHERE category_id = $1 LIMIT 1", id)
	return found, err
}

func (t *tx) EnsureCategories(ids ...int64) (created []int64, err error) {
	err = inChunks(ids, "($)", func(part []int64, places string) error {
		some, err := all(t, scanValue[int64],
			"INSERT INTO categories (id) VALUES "+places+" ON CONFLICT (id) DO NOTHING RETURNING id", anys(part)...)
		created = append(created, some...)
		return err
	})
	if err == nil {
		t.rememberCategories(ids)
	}
	slices.Sort(created)
	return created, err
}

// requireCategories fails if one of the categories does not exist. It does nothing on PostgreSQL, which checks its
// foreign keys with each statement. Those of SQLite are checked only with the commit, and then the whole group would
// fail.
func (t *tx) requireCategories(ids []int64) error {
	if !t.dialect.deferredKeys {
		return nil
	}
	var missing []int64
	for _, id := range ids {
		if !t.categories[id] {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	missing = slices.Compact(missing)
	found, err := allIn(t, missing, scanValue[int64], "SELECT id FROM categories WHERE id IN (%s)")
	if err != nil {
		return err
	}
	t.rememberCategories(found)
	for _, id := range missing {
		if !t.categories[id] {
			return t.Fail(fmt.Errorf("there is no category %d", id))
		}
	}
	return nil
}

// rememberCategories records that categories exist.
func (t *tx) rememberCategories(ids []int64) {
	if t.categories == nil {
		t.categories = map[int64]bool{}
	}
	for _, id := range ids {
		t.categories[id] = true
	}
}

func (t *tx) InsertCategories(categories ...shop.Category) error {
	t.touched |= touchedWindow
	return inChunks(categories, placeholders(3), func(part []shop.Category, places string) error {
		var args []any
		for _, category := range part {
			args = appendCategory(args, category)
		}
		return t.Exec("INSERT INTO categories (id, name, name_key) VALUES "+places, args...)
	})
}

func (t *tx) UpdateCategory(_, after shop.Category) error {
	t.touched |= touchedWindow
	return t.Exec("UPDATE categories SET name = $2, name_key = $3 WHERE id = $1", appendCategory(nil, after)...)
}

// AssignCategoryIDs returns the lowest unused ids after the last id that it assigned. It skips ids that clients have
// chosen for their own categories.
func (t *tx) AssignCategoryIDs(n int) ([]int64, error) {
	text, _, err := one(t, scanValue[string], "SELECT value FROM settings WHERE name = 'last_category_id'")
	if err != nil || n == 0 {
		return nil, err
	}
	last, _ := strconv.ParseInt(text, 10, 64) // before the first assignment, text is empty and last is 0
	ids := make([]int64, 0, n)
	for more := true; more; {
		taken, err := all(t, scanValue[int64], "SELECT id FROM categories WHERE id > $1 ORDER BY id LIMIT "+strconv.Itoa(rowsAtOnce), last)
		if err != nil {
			return nil, err
		}
		if more = len(taken) == rowsAtOnce; !more {
			taken = append(taken, math.MaxInt64)
		}
		for _, end := range taken {
			for ; last < end-1 && len(ids) < n; last++ {
				ids = append(ids, last+1)
			}
			if len(ids) == n {
				return ids, t.set("last_category_id", strconv.FormatInt(last, 10))
			}
			last = end
		}
	}
	return nil, t.Fail(errors.New("there is no id left for another category"))
}

func (t *tx) LockCategoryIDs() error {
	if t.dialect.lockCategoryID == "" {
		return nil
	}
	return t.Exec(t.dialect.lockCategoryID)
}

// DeleteCategory fails if any pets belong to the category. On SQLite, it checks this itself, for the same reason as
// requireCategories.
func (t *tx) DeleteCategory(category shop.Category) error {
	if t.dialect.deferredKeys {
		used, err := t.CategoryInUse(category.ID)
		if err != nil {
			return err
		}
		if used {
			return t.Fail(fmt.Errorf("category %d has pets", category.ID))
		}
		delete(t.categories, category.ID)
	}
	t.touched |= touchedWindow
	return t.Exec("DELETE FROM categories WHERE id = $1", category.ID)
}
