package sqlstore

import (
	"strings"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// wantSearched checks the names of the pets that a search finds, newest first, before and after the pets are
// indexed.
func wantSearched(t *testing.T, store *Store, query, want string) {
	t.Helper()
	for range 2 {
		wantFound(t, store, query, want)
		indexAll(t, store)
	}
}

// wantFound checks the names of the pets that a search finds, newest first.
func wantFound(t *testing.T, store *Store, query, want string) {
	t.Helper()
	var names []string
	position := int64(0)
	read(t, store, func(tx shop.ReadTx) error {
		page, err := tx.SearchPets(shop.PetList{PetFilter: shop.PetFilter{Query: query}, PageRequest: shop.PageRequest{Limit: 100}})
		for _, pet := range page.Items {
			names = append(names, pet.Name)
		}
		position = selected[int64](t, tx, "SELECT position FROM search_progress WHERE list = 'pets'")
		return err
	})
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("%q finds %q, want %q; indexed up to %d", query, got, want, position)
	}
}

func indexAll(t *testing.T, store *Store) {
	t.Helper()
	for batch := (shop.IndexResult{More: true}); batch.More; {
		batch = indexOnce(t, store, batch.Unfinished)
	}
}

// indexOnce writes a part of a batch, or of a new batch if unfinished is nil.
func indexOnce(t *testing.T, store *Store, unfinished shop.IndexBatch) shop.IndexResult {
	t.Helper()
	result, err := shop.IndexStep(t.Context(), store, unfinished)
	must(t, err)
	return result
}

// A search finds pets that were stored before there was an index. It finds pets that are written by statements that do
// not know the index. It also finds pets that a transaction commits long after their ids were assigned.
func TestSearchFindsWhatEarlierVersionsWrote(t *testing.T) {
	t.Parallel()
	steps, err := Migrations(Postgres)
	must(t, err)
	database := pgtest.Shared(t).NewDatabase(t)
	migrateTo(t, database, steps[:3])
	old := pgtest.Connect(t, database)
	old.Do("INSERT INTO categories (id) VALUES (1)",
		"INSERT INTO pets (name, name_folded, category_id) VALUES ('Bella 1', 'BELLA 1', 1), ('Rex 2', 'REX 2', 1)")
	store := open(t, database, Options{})
	wantSearched(t, store, "bella", "Bella 1")
	const insert = "INSERT INTO pets (name, category_id) VALUES "
	old.Do(insert+"('Bella 3', 1)", insert+"('Bella 4', 1)",
		"UPDATE pets SET name = 'Rex 1' WHERE id = 1", "UPDATE pets SET name = 'Bella 2' WHERE id = 2", "DELETE FROM pets WHERE id = 3")
	wantSearched(t, store, "bella", "Bella 4, Bella 2")
	late, err := old.BeginTx(t.Context(), nil)
	must(t, err)
	_, err = late.ExecContext(t.Context(), insert+"('Bella 5', 1)")
	must(t, err)
	write(t, store, adding("Bella 6"))
	wantSearched(t, store, "bella", "Bella 6, Bella 4, Bella 2")
	must(t, late.Commit())
	wantSearched(t, store, "bella", "Bella 6, Bella 5, Bella 4, Bella 2")
	if n := pgtest.Value[int64](old, "SELECT count(*) FROM pet_search_changes"); n != 0 {
		t.Errorf("%d changes are left after they were indexed", n)
	}
}

// The ids of removed and renamed pets do not stay in the index, where every search would have to compare them.
func TestIndexForgetsTextsThatAreGone(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	for _, name := range []string{"Bella", "Rex"} {
		write(t, store, adding(name))
	}
	indexAll(t, store)
	for _, statement := range []string{"UPDATE pets SET name = 'Bello' WHERE id = 1", "DELETE FROM pets WHERE id = 2"} {
		write(t, store, executing(statement))
	}
	indexAll(t, store)
	read(t, store, func(r shop.ReadTx) error {
		n := selected[int64](t, r, "SELECT count(*) FROM pet_search")
		if n != 3 { // Bel, ell and llo
			t.Errorf("the index has %d rows, want 3", n)
		}
		return nil
	})
	// A pet that is inserted again with the same id is found again.
	write(t, store, executing("INSERT INTO pets (id, name, category_id) VALUES (2, 'Rex', 1)"))
	wantSearched(t, store, "rex", "Rex")
}

// Changes to a name may be indexed in a different order from the one in which they were made. This happens if the later
// change is in a transaction that began earlier. The resulting index is the same.
func TestIndexingDoesNotDependOnTheOrderOfChanges(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	write(t, store, adding("Bella"))
	indexAll(t, store)
	earlier, err := pgtest.Connect(t, database).BeginTx(t.Context(), nil)
	must(t, err)
	_, err = earlier.ExecContext(t.Context(), "SELECT pg_current_xact_id()")
	must(t, err)
	direct.Do("UPDATE pets SET name = 'Rex'")
	_, err = earlier.ExecContext(t.Context(), "UPDATE pets SET name = 'Luna'")
	must(t, err)
	must(t, earlier.Commit())
	changes := "SELECT string_agg(previous, ', ' ORDER BY xid) FROM pet_search_changes"
	if order := pgtest.Value[string](direct, changes); order != "Rex, Bella" {
		t.Fatalf("the previous names in the order of transactions are %s", order)
	}
	indexAll(t, store)
	if n := pgtest.Value[int](direct, "SELECT count(*) FROM pet_search"); n != 2 { // Lun and una
		t.Errorf("the index has %d rows, want 2", n)
	}
	wantSearched(t, store, "luna", "Luna")
}
