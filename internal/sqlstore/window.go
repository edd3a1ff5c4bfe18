package sqlstore

import (
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// inWindow is the condition that the shop window shows a pet, as in the partial indexes pets_window and
// pets_window_category.
const inWindow = "published = 1 AND status IN ('available', 'pending')"

// windowPage returns the query for the given columns of one page of the pets in the shop window.
func windowPage(d *dialect, columns string, list shop.ProfileList) (query string, args []any) {
	c, index := &conditions{byRow: d.byRow, texts: []string{inWindow}}, "pets_window"
	if list.CategoryID != nil {
		c.equal("category_id", *list.CategoryID)
		index = "pets_window_category"
	}
	return c.page("SELECT "+columns+" FROM pets"+d.byIndex(index), list.PageRequest, "id < %s", "id DESC")
}

func (t *tx) WasPublished(id int64) (bool, error) {
	_, found, err := one(t, scanValue[int64], "SELECT id FROM published_pets WHERE id = $1", id)
	return found, err
}

// WindowCategories reads one row for each category.
func (t *tx) WindowCategories(limit int) ([]int64, error) {
	first := "(SELECT category_id FROM pets" + t.dialect.byIndex("pets_window_category") + " WHERE " + inWindow
	const then = " ORDER BY category_id LIMIT 1)"
	return all(t, scanValue[int64], "WITH RECURSIVE found (id, n) AS (SELECT "+first+then+", 1 UNION ALL SELECT "+
		first+" AND category_id > found.id"+then+", n + 1 FROM found WHERE id IS NOT NULL AND n < "+strconv.Itoa(limit)+
		") SELECT id FROM found WHERE id IS NOT NULL")
}

func (t *tx) WindowRows(limit int) ([]shop.WindowRow, error) {
	pets, _ := windowPage(t.dialect, "id", shop.ProfileList{PageRequest: shop.PageRequest{Limit: limit}})
	return all(t, scanWindowRow, "SELECT pet.id, profile.updated_at, coalesce(profile.sex, ''), coalesce(profile.size, ''), coalesce(profile.tags, '')"+
		" FROM ("+pets+") AS pet JOIN profiles AS profile ON profile.id = pet.id ORDER BY pet.id DESC")
}

func scanWindowRow(scan Scanner) (row shop.WindowRow, err error) {
	var updated int64
	var tags string
	err = scan(&row.ID, &updated, (*string)(&row.Sex), (*string)(&row.Size), &tags)
	row.UpdatedAt = fromMicros(updated)
	if tags != "" {
		row.Tags = strings.Split(tags, ",")
	}
	return row, err
}

// rememberPublished records that pets have been published.
func (t *tx) rememberPublished(ids []int64) error {
	return inChunks(ids, "($)", func(part []int64, places string) error {
		return t.Exec("INSERT INTO published_pets (id) VALUES "+places+" ON CONFLICT (id) DO NOTHING", anys(part)...)
	})
}

// touchWindow records that the transaction may change what the shop window shows of pets. On PostgreSQL, every transaction
// changes the version of the window.
func (t *tx) touchWindow(ids ...int64) error {
	if t.dialect.sharesVersion || t.touched&touchedWindow != 0 {
		return nil
	}
	published, err := allIn(t, ids, scanValue[int64], "SELECT id FROM pets WHERE id IN (%s) AND published = 1")
	if len(published) > 0 {
		t.touched |= touchedWindow
	}
	return err
}
