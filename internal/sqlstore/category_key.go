package sqlstore

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"animalstore/internal/shop"
)

// The column name_key contains shop.CategoryKey of the name, so that an index finds all names with the same key. It is
// NULL for names that an earlier version has written, until IndexSearch sets it. These names are called unkeyed.

// isUnkeyed is the condition for the categories whose name has no key yet.
const isUnkeyed = "name_key IS NULL AND name IS NOT NULL"

// selectUnkeyed returns a query for the categories whose name has no key yet.
func (d *dialect) selectUnkeyed(columns string) string {
	return "SELECT " + columns + " FROM categories" + d.byUnkeyed + " WHERE " + isUnkeyed
}

// keyedNames is the maximum number of names to which one batch of IndexSearch adds keys.
const keyedNames = 2000

// appendCategory appends the category's id, its name and the key of its name to args.
func appendCategory(args []any, category shop.Category) []any {
	return append(args, category.ID, nullable(category.Name), nullable(shop.CategoryKey(category.Name)))
}

func (t *tx) CategoriesNamed(names []string, limit int) ([]shop.Category, error) {
	keys, wanted := make([]string, len(names)), map[string]bool{}
	for i, name := range names {
		keys[i] = shop.CategoryKey(name)
		wanted[keys[i]] = true
	}
	slices.Sort(keys)
	found, err := t.categoriesWith("name_key", slices.Compact(keys), limit)
	if err != nil {
		return nil, err
	}
	exact, err := t.categoriesWith("name", names, limit)
	if err != nil {
		return nil, err
	}
	unkeyed, err := t.unkeyedCategories(wanted)
	found = slices.Concat(found, exact, unkeyed)
	slices.SortFunc(found, func(a, b shop.Category) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(found), err
}

// categoriesWith returns the categories whose column contains one of the values. For each value, it returns at most
// limit categories, those with the lowest ids.
func (t *tx) categoriesWith(column string, values []string, limit int) (found []shop.Category, err error) {
	err = inPaddedChunks(values, "(CAST($ AS TEXT))", func(part []string, places string) error {
		some, err := all(t, scanCategory, numbered(t.dialect.categoriesWith(column, places, limit)), anys(part)...)
		found = append(found, some...)
		return err
	})
	return found, err
}

// categoriesWith returns the query for tx.categoriesWith. places contains the placeholders for the values. A value may
// be repeated. The condition is a range instead of an equality. For an equality with a frequent name, PostgreSQL would
// go through the categories in the order of their ids, and could read all of them before the first match.
func (d *dialect) categoriesWith(column, places string, limit int) string {
	first := fmt.Sprintf("SELECT x.id FROM categories x WHERE x.%[1]s BETWEEN given.value AND given.value ORDER BY x.%[1]s, x.id LIMIT %[2]d", column, limit)
	return "WITH given (value) AS (VALUES " + places + ") SELECT DISTINCT c.id, c.name FROM given JOIN categories c ON " +
		fmt.Sprintf(d.inSubquery, "c.id", first)
}

// unkeyedCategories returns the unkeyed categories whose names have one of the wanted keys. It keeps only these in
// memory, however many unkeyed names there are.
func (t *tx) unkeyedCategories(wanted map[string]bool) (found []shop.Category, err error) {
	_, err = all(t, func(scan Scanner) (struct{}, error) {
		category, err := scanCategory(scan)
		if err == nil && wanted[shop.CategoryKey(category.Name)] {
			found = append(found, category)
		}
		return struct{}{}, err
	}, t.dialect.selectUnkeyed(categoryColumns))
	return found, err
}

// addCategoryKeys adds the keys of at most keyedNames unkeyed names. It skips names that another node is changing. It
// returns the number of keys that it added and whether there may be more unkeyed names.
func (t *tx) addCategoryKeys() (n int64, more bool, err error) {
	unkeyed, err := all(t, scanCategory,
		t.dialect.selectUnkeyed(categoryColumns)+" ORDER BY id LIMIT "+strconv.Itoa(keyedNames)+t.dialect.skipLocked)
	if err == nil {
		err = t.setCategoryKeys(unkeyed...)
	}
	return int64(len(unkeyed)), len(unkeyed) == keyedNames, err
}

// setCategoryKeys sets the name_key column of categories that are already in the database.
func (t *tx) setCategoryKeys(categories ...shop.Category) error {
	return inChunks(categories, "(CAST($ AS BIGINT), CAST($ AS TEXT))", func(part []shop.Category, places string) error {
		var args []any
		for _, category := range part {
			args = append(args, category.ID, nullable(shop.CategoryKey(category.Name)))
		}
		return t.Exec("WITH new (id, name_key) AS (VALUES "+places+
			") UPDATE categories SET name_key = new.name_key FROM new WHERE categories.id = new.id", args...)
	})
}
