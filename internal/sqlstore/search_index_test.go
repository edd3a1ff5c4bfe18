package sqlstore

import (
	"runtime"
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

// Pets may be renamed, removed or restored while a batch is unfinished. Searches find them by their current
// names afterwards.
func TestPetsMayChangeWhileABatchIsUnfinished(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addNames(t, store, "Bella 1", "Bella 2", "Bella 3", "Bella 4")
	write(t, store, executing("DELETE FROM pets WHERE id = 3"))
	write(t, store, executing("DELETE FROM pet_search_changes")) // as if an earlier batch had indexed the removal
	for n := range 10 {
		addNames(t, store, rareName(n))
	}
	batch := indexOnce(t, store, nil)
	if batch.Unfinished == nil {
		t.Fatal("the batch was written in one transaction")
	}
	for _, statement := range []string{"UPDATE pets SET name = 'Rex 1' WHERE id = 1", "DELETE FROM pets WHERE id = 2",
		"INSERT INTO pets (id, name, name_folded, category_id) VALUES (3, 'Bella 3', 'BELLA 3', 1)"} {
		write(t, store, executing(statement))
	}
	for batch.More {
		batch = indexOnce(t, store, batch.Unfinished)
	}
	wantSearched(t, store, "bella", "Bella 4, Bella 3")
	wantSearched(t, store, "rex", "Rex 1")
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
	if again := indexOnce(t, store, stale.Unfinished); again.Indexed != 1 {
		t.Errorf("indexed %d pets, want only the new one", again.Indexed)
	}
}

// If the first transaction of a batch leaves some category names without keys, the last transaction of the batch
// reports that there is more to index.
func TestUnfinishedBatchRemembersThatThereIsMore(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	write(t, store, executing(`INSERT INTO categories (id, name) WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i <= 2001)
		SELECT i, 'Category ' || i FROM n`))
	for n := range 10 {
		addNames(t, store, rareName(n))
	}
	batch := indexOnce(t, store, nil)
	if batch.Unfinished == nil {
		t.Fatal("the batch was written in one transaction")
	}
	for batch.Unfinished != nil {
		batch = indexOnce(t, store, batch.Unfinished)
	}
	if !batch.More {
		t.Error("there is a name left, but the result says that there is nothing more to index")
	}
	if indexOnce(t, store, nil).More {
		t.Error("everything is indexed, but the result says that there is more")
	}
}

// IndexSearch reports whether other writes are waiting for its transaction to finish. These may be other members of its
// group, or writes that are still queued.
func TestIndexingKnowsWhetherOthersWait(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	if indexOnce(t, store, nil).OthersWait {
		t.Error("without other writes, another write waits")
	}
	var result shop.IndexResult
	index := func(tx shop.WriteTx) (err error) {
		result, err = tx.IndexSearch(nil)
		return err
	}
	together(t, store, index) // the group also contains the write that blocks the writer
	if !result.OthersWait {
		t.Error("the earlier writes in the group do not wait")
	}
	done := make(chan error, 1)
	write(t, store, func(tx shop.WriteTx) error {
		go func() { done <- store.Write(t.Context(), adding("Bella")) }()
		for len(sqliteOf(store).writer.members) == 0 {
			runtime.Gosched()
		}
		return index(tx)
	})
	must(t, <-done)
	if !result.OthersWait {
		t.Error("a queued write does not wait")
	}
}
