package sqlstore

import (
	"database/sql"
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
	if len(ids) == 0 {
		return nil, nil
	}
	var c conditions
	addIn(&c, "id", ids)
	return all(t, scanCategory, "SELECT "+categoryColumns+" FROM categories WHERE "+c.texts[0], c.args...)
}

func (t *tx) CategoryInUse(id int64) (bool, error) {
	_, found, err := one(t, scanValue[int64], "SELECT id FROM pets WHERE category_id = $1 LIMIT 1", id)
	return found, err
}

func (t *tx) EnsureCategories(ids ...int64) (created []int64, err error) {
	return t.rowWriter().ensureCategories(ids)
}

func (t *tx) ExistingCategories(ids []int64) (known []int64, err error) {
	err = inChunks(ids, "$", func(part []int64, places string) error {
		some, err := all(t, scanValue[int64], "SELECT id FROM categories WHERE id IN ("+places+")", anys(part)...)
		known = append(known, some...)
		return err
	})
	return known, err
}

func (t *tx) InsertCategory(category shop.Category) error {
	return t.exec("INSERT INTO categories (id, name) VALUES ($1, $2)", category.ID, nullable(category.Name))
}

func (t *tx) UpdateCategory(_, after shop.Category) error {
	return t.exec("UPDATE categories SET name = $1 WHERE id = $2", nullable(after.Name), after.ID)
}

// AssignCategoryID returns the lowest unused id after the last id that it assigned. Clients may have created
// categories with ids of their own choice, and AssignCategoryID skips these ids.
func (t *tx) AssignCategoryID() (int64, error) {
	text, _, err := one(t, scanValue[string], "SELECT value FROM settings WHERE name = 'last_category_id'")
	if err != nil {
		return 0, err
	}
	last, _ := strconv.ParseInt(text, 10, 64) // before the first assignment, text is empty and last is 0
	id, _, err := one(t, scanValue[int64], `
		WITH RECURSIVE taken (id) AS (
			SELECT id FROM categories WHERE id = $1
			UNION ALL
			SELECT c.id FROM taken JOIN categories c ON c.id = taken.id + 1
		) SELECT coalesce(max(id) + 1, CAST($1 AS BIGINT)) FROM taken`, last+1)
	if err != nil {
		return 0, err
	}
	return id, t.set("last_category_id", strconv.FormatInt(id, 10))
}

func (t *tx) DeleteCategory(category shop.Category) error {
	return t.rowWriter().deleteCategory(category.ID)
}
