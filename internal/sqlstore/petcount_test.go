package sqlstore

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// The migration counts the animals in a store of an earlier version while nodes of that version are writing to it. The
// change in an event that has not been published yet is counted exactly once.
func TestUpgradeCountsWhatOldNodesWrite(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(Postgres)
	must(t, err)
	database := pgtest.Shared(t).NewDatabase(t)
	must(t, migrateBy(t, t.Context(), database, steps[:5]))
	direct := pgtest.Connect(t, database)
	insert := func(table, kind, data string) {
		direct.Do("INSERT INTO " + table + " (at, type, subject, actor, data) VALUES (1, '" + kind + "', 'x', 'system', '" + data + "')")
	}
	const two, three = `{"id":2,"name":"b","categoryId":-7,"status":"sold"}`, `{"id":3,"name":"c","categoryId":8}`
	direct.Do("INSERT INTO categories (id) VALUES (-7), (8)",
		`INSERT INTO pets (name, name_folded, category_id, status)
		VALUES ('a', 'A', -7, 'available'), ('b', 'B', -7, 'sold'), ('c', 'C', 8, NULL)`)
	insert("events", "pet.created", `{"current":{"id":1,"name":"a","categoryId":-7,"status":"available"},"previous":null}`)
	insert("event_inbox", "pet.created", `{"current":{"id":2,"name":"b","categoryId":8,"status":"pending"},"previous":null}`)
	insert("event_inbox", "pet.updated", `{"current":`+two+`,"previous":{"id":2,"name":"b","categoryId":8,"status":"pending"}}`)
	insert("event_inbox", "pet.created", `{"current":`+three+`,"previous":null}`)
	insert("event_inbox", "category.created", `{"current":{"id":8},"previous":null}`)

	store := open(t, database, Options{})
	want := func(when string, counts ...shop.CategoryCount) {
		t.Helper()
		read(t, store, func(tx shop.ReadTx) error {
			got, err := tx.LargestCategories(10)
			if !slices.Equal(got, counts) {
				t.Errorf("%s: counted %v, want %v", when, got, counts)
			}
			return err
		})
	}
	seven := shop.CategoryCount{CategoryID: -7, Inventory: shop.Inventory{Available: 1, Sold: 1}}
	eight := shop.CategoryCount{CategoryID: 8, Inventory: shop.Inventory{Unspecified: 1}}
	want("after the migration", seven, eight)
	must(t, store.Publish(t.Context()))
	want("after the events were published", seven, eight)
	direct.Do("DELETE FROM pets WHERE id = 3") // as a node of the earlier version does
	insert("event_inbox", "pet.deleted", `{"current":null,"previous":`+three+`}`)
	want("after a write of an old node", seven)
}

// Nodes of version 1.0 remove events without adding their changes to the counts. If no newer node has added these
// changes first, the animals are counted again. Until then, no counts are shown, because they would be wrong.
func TestAnimalsAreRecountedAfterUncountedEventsWereRemoved(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store := open(t, database, Options{})
	service, err := shop.Open(t.Context(), store, shop.Options{})
	must(t, err)
	add := func(category int64, status shop.Status) {
		_, err := service.CreatePet(t.Context(), shop.Caller{}, shop.NewPet{Name: "x", CategoryID: category, Status: status})
		must(t, err)
	}
	add(1, shop.Available)
	must(t, store.Publish(t.Context()))
	must(t, service.FoldAllCounts(t.Context()))
	add(1, shop.Sold)
	add(2, "")
	must(t, store.Publish(t.Context()))
	pgtest.Connect(t, database).Do(
		"INSERT INTO settings (name, value) SELECT 'event_horizon', CAST(max(id) AS TEXT) FROM events", "DELETE FROM events")
	unknown := func(when string) {
		t.Helper()
		read(t, store, func(tx shop.ReadTx) error {
			if got, err := tx.LargestCategories(10); !errors.Is(err, shop.ErrRecounting) {
				t.Errorf("%s: counted %v, %v", when, got, err)
			}
			if got, err := tx.CountCategories([]int64{1}); !errors.Is(err, shop.ErrRecounting) {
				t.Errorf("%s: counted %v, %v", when, got, err)
			}
			return nil
		})
	}
	unknown("before the animals are counted again")
	add(2, shop.Sold)
	must(t, store.Publish(t.Context()))
	write(t, store, func(tx shop.WriteTx) error {
		later := time.Now().Add(time.Hour)
		_, err := tx.RemoveEvents(later, later)
		return err
	})
	unknown("after more events were removed")
	add(2, shop.Pending) // the event about this animal stays in the inbox
	want := func(when string) {
		t.Helper()
		counts := []shop.CategoryCount{
			{CategoryID: 1, Inventory: shop.Inventory{Available: 1, Sold: 1}}, {CategoryID: 2, Inventory: shop.Inventory{Pending: 1, Sold: 1, Unspecified: 1}},
		}
		read(t, store, func(tx shop.ReadTx) error {
			got, err := tx.LargestCategories(10)
			if slices.SortFunc(got, func(a, b shop.CategoryCount) int { return cmp.Compare(a.CategoryID, b.CategoryID) }); !slices.Equal(got, counts) {
				t.Errorf("%s: counted %v, want %v", when, got, counts)
			}
			return err
		})
	}
	for range 2 { // the second call finds nothing to do
		must(t, service.FoldCounts(t.Context()))
		want("after the animals were counted")
	}
	must(t, store.Publish(t.Context()))
	want("after the event was published")
	must(t, service.FoldAllCounts(t.Context()))
	want("after the event was added")
}
