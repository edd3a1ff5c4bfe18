package sqlstore

import (
	"slices"
	"testing"

	"animalstore/internal/shop"
)

// rareName returns a name of 195 letters. Hardly any of its grams occur in other names.
func rareName(n int) string {
	name := []rune("rare ")
	for i := range 190 {
		name = append(name, rune(0x20000+190*n+i))
	}
	return string(name)
}

func addNames(t *testing.T, store *Store, names ...string) {
	t.Helper()
	for _, name := range names {
		write(t, store, adding(name))
	}
}

func postingCount(t *testing.T, store *Store) (n int) {
	t.Helper()
	read(t, store, func(r shop.ReadTx) error {
		n = int(selected[int64](t, r, "SELECT count(*) FROM pet_search"))
		return nil
	})
	return n
}

// On SQLite, all other writes wait while a transaction writes postings, so each transaction writes only a few of them.
// The rest of the batch follows in later transactions. Searches find the pets of the batch at any time.
func TestIndexingWritesFewPostingsInOneTransaction(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	const pets, most = 60, 500
	for n := range pets {
		addNames(t, store, rareName(n))
	}
	before, indexed := 0, int64(0)
	for batch := (shop.IndexResult{More: true}); batch.More; {
		batch = indexOnce(t, store, batch.Unfinished)
		now := postingCount(t, store)
		if written := now - before; written > most || written == 0 && batch.More {
			t.Fatalf("one transaction has written %d postings, want 1 to %d", written, most)
		}
		before, indexed = now, indexed+batch.Indexed
		for _, n := range []int{0, 30, pets - 1} {
			name := rareName(n)
			wantFound(t, store, name, name)
		}
	}
	if indexed != pets || before < 190*pets {
		t.Errorf("indexed %d pets with %d postings", indexed, before)
	}
}

// Pets may be renamed, removed or restored after a batch has been collected, and while it is unfinished. Searches find
// them by their current names afterwards.
func TestPetsMayChangeWhileABatchIsUnfinished(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(store *Store) shop.IndexResult{
		"collected": func(store *Store) (result shop.IndexResult) {
			read(t, store, func(tx shop.ReadTx) (err error) {
				result.Unfinished, result.More, err = tx.NextIndexBatch()
				return err
			})
			return result
		},
		"partly written": func(store *Store) shop.IndexResult { return indexOnce(t, store, nil) },
	} {
		store := openNew(t)
		addNames(t, store, "Bella 1", "Bella 2", "Bella 3", "Bella 4")
		write(t, store, executing("DELETE FROM pets WHERE id = 3"))
		write(t, store, executing("DELETE FROM pet_search_changes")) // as if an earlier batch had indexed the removal
		if name == "partly written" {                                // the other batch is written in one transaction
			for n := range 10 {
				addNames(t, store, rareName(n))
			}
		}
		batch := begin(store)
		if batch.Unfinished == nil {
			t.Fatal(name, "batch: nothing is left to write")
		}
		for _, statement := range []string{"UPDATE pets SET name = 'Rex 1' WHERE id = 1", "DELETE FROM pets WHERE id = 2",
			"INSERT INTO pets (id, name, category_id) VALUES (3, 'Bella 3', 1)"} {
			write(t, store, executing(statement))
		}
		for batch.More {
			batch = indexOnce(t, store, batch.Unfinished)
		}
		wantSearched(t, store, "bella", "Bella 4, Bella 3")
		wantSearched(t, store, "rex", "Rex 1")
	}
}

// A batch that is never finished is indexed again.
func TestUnfinishedBatchIsCollectedAgain(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	for n := range 10 {
		addNames(t, store, rareName(n))
	}
	indexOnce(t, store, nil) // the rest is lost, as if the program had ended
	wantSearched(t, store, rareName(7), rareName(7))
	// The rest of an unfinished batch is discarded if another batch has been indexed in the meantime.
	for n := range 10 {
		addNames(t, store, rareName(10+n))
	}
	stale := indexOnce(t, store, nil)
	indexAll(t, store)
	addNames(t, store, "Bella")
	if again := indexOnce(t, store, stale.Unfinished); again.Indexed != 0 {
		t.Errorf("a stale batch indexed %d pets", again.Indexed)
	}
	if again := indexOnce(t, store, nil); again.Indexed != 1 {
		t.Errorf("indexed %d pets, want only the new one", again.Indexed)
	}
}

// While new pets are added all the time, orders and category names are indexed, too.
func TestEveryListIsIndexed(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	write(t, store, executing("INSERT INTO categories (id, name) VALUES (2, 'Dogs')"))
	write(t, store, executing("INSERT INTO orders (pet_id, status, reference, created_at, updated_at) VALUES (1, 'approved', 'Bella', 1, 1)"))
	result := shop.IndexResult{More: true}
	for range 2 { // one transaction for each list
		addNames(t, store, "Rex")
		result = indexOnce(t, store, result.Unfinished)
	}
	if result.More {
		t.Error("there is more to index than one batch of each list")
	}
	read(t, store, func(tx shop.ReadTx) error {
		if n := selected[int64](t, tx, "SELECT count(*) FROM orders WHERE id > (SELECT position FROM search_progress WHERE list = 'orders')"); n > 0 {
			t.Errorf("%d orders are not indexed", n)
		}
		if position := selected[int64](t, tx, "SELECT position FROM search_progress WHERE list = 'pets'"); position != 1 {
			t.Errorf("pets are indexed up to %d, want 1", position)
		}
		if n := selected[int64](t, tx, "SELECT count(*) FROM categories WHERE name_key IS NULL AND name IS NOT NULL"); n > 0 {
			t.Errorf("%d category names are not indexed", n)
		}
		return nil
	})
}

// A batch with the maximum number of rows ends with a block, so that the next batch does not write the same postings
// again.
func TestLargeBatchEndsWithABlock(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addPets(t, store, 100)
	indexAll(t, store)
	const blockSize = 7680 // the number of ids in a block of the index
	addPets(t, store, 2*blockSize)
	var positions []int64
	for batch := (shop.IndexResult{More: true}); batch.More; {
		batch = indexOnce(t, store, batch.Unfinished)
		read(t, store, func(tx shop.ReadTx) error {
			positions = append(positions, selected[int64](t, tx, "SELECT position FROM search_progress WHERE list = 'pets'"))
			return nil
		})
	}
	positions = slices.Compact(positions) // the position moves with the last transaction of a batch
	if want := []int64{100, blockSize - 1, 2*blockSize - 1, 2*blockSize + 100}; !slices.Equal(positions, want) {
		t.Errorf("the batches end with %v, want %v", positions, want)
	}
}

// A category name that has no key, which only a statement by hand can write, does not keep others from being indexed.
func TestNameWithoutAKeyDoesNotStopIndexing(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	write(t, store, executing("INSERT INTO categories (id, name) VALUES (2, ' ')"))
	addNames(t, store, "Bella")
	if result := indexOnce(t, store, nil); result.More || result.Unfinished != nil {
		t.Errorf("the result says that there is more to index: %+v", result)
	}
	read(t, store, func(tx shop.ReadTx) error {
		if position := selected[int64](t, tx, "SELECT position FROM search_progress WHERE list = 'pets'"); position != 1 {
			t.Errorf("pets are indexed up to %d, want 1", position)
		}
		return nil
	})
}
