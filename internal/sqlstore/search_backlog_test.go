package sqlstore

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/postgres"
)

// indexing returns a write that adds pets and indexes their names itself, as if too many names were waiting.
func indexing(fn func(shop.WriteTx) error) func(shop.WriteTx) error {
	return func(w shop.WriteTx) error { return w.(*tx).run(fn, true) }
}

func progressOf(t *testing.T, store *Store) (position, last int64) {
	t.Helper()
	read(t, store, func(tx shop.ReadTx) error {
		position = selected[int64](t, tx, "SELECT position FROM search_progress WHERE list = 'pets'")
		last = selected[int64](t, tx, "SELECT last FROM search_progress WHERE list = 'pets'")
		return nil
	})
	return position, last
}

func wantWaiting(t *testing.T, store *Store, want int64) {
	t.Helper()
	read(t, store, func(r shop.ReadTx) error {
		n, err := r.(*tx).dialect.words.Waiting(r.(*tx).Tx)
		if n != want {
			t.Errorf("%d texts wait, want %d", n, want)
		}
		return err
	})
}

// On SQLite, names wait for the index because their ids follow a position. When a write indexes its own name, only the
// names up to the last id wait in this way, until all of them are in the index.
func TestNamesAreIndexedBesideThoseThatWait(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addNames(t, store, "Bella 1", "Bella 2")
	write(t, store, indexing(adding("Bella 3")))
	if position, last := progressOf(t, store); position != 0 || last != 2 {
		t.Errorf("the names after %d up to %d wait, want those of 1 and 2", position, last)
	}
	wantWaiting(t, store, 2)
	addNames(t, store, "Bella 4") // it is queued
	wantWaiting(t, store, 3)
	wantSearched(t, store, "bella", "Bella 4, Bella 3, Bella 2, Bella 1")
	if position, last := progressOf(t, store); position != 4 || last != math.MaxInt64 {
		t.Errorf("the names after %d up to %d wait, want those of new animals", position, last)
	}
	// The names that waited may be gone.
	addNames(t, store, "Bella 5")
	write(t, store, indexing(executing("DELETE FROM pets WHERE id = 1")))
	write(t, store, executing("DELETE FROM pets WHERE id = 5"))
	indexAll(t, store)
	wantWaiting(t, store, 0)
	if _, last := progressOf(t, store); last != math.MaxInt64 {
		t.Errorf("the names up to %d wait, although they are gone", last)
	}
}

// A name that a write indexes itself is not replaced by an earlier name that is part of an unfinished batch. The rest of the
// batch is indexed nevertheless, because otherwise writes could keep the index from making progress.
func TestUnfinishedBatchDoesNotUndoAWrite(t *testing.T) {
	t.Parallel()
	for name, queued := range map[string]bool{"indexed": false, "indexed and changed again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := openNew(t)
			addNames(t, store, "Bella", "Rex")
			indexAll(t, store)
			write(t, store, renaming(1, rareName(1)))
			write(t, store, renaming(2, rareName(2)))
			write(t, store, renaming(2, rareName(3)))
			for n := range 2 {
				addNames(t, store, rareName(4+n))
			}
			batch := indexOnce(t, store, nil) // it has more names than one transaction indexes
			if batch.Unfinished == nil {
				t.Fatal("nothing is left to write")
			}
			write(t, store, indexing(renaming(1, "Bella")))
			if queued { // the same change as in the batch
				write(t, store, renaming(1, rareName(1)))
			}
			indexed := int64(0)
			for batch.Unfinished != nil {
				batch = indexOnce(t, store, batch.Unfinished)
				indexed += batch.Indexed
			}
			if indexed != 4 { // two changes and two new names
				t.Errorf("the batch has indexed %d changes and names, want 4", indexed)
			}
			indexAll(t, store)
			found, gone, postings := "Bella", rareName(1), 3+3+3*190 // rare names have three grams in common
			if queued {
				found, gone, postings = gone, found, 3+4*190
			}
			wantFound(t, store, found, found)
			wantFound(t, store, gone, "")
			wantFound(t, store, rareName(3), rareName(3))
			wantFound(t, store, rareName(2), "")
			if n := postingCount(t, store); n != postings {
				t.Errorf("the index has %d rows, want %d", n, postings)
			}
			wantNothingMissing(t, store)
		})
	}
}

// The names of a copied store, or of one from a version without an index, do not keep others from importing.
func TestNamesOfACopiedStoreDoNotCount(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	write(t, store, executing("INSERT INTO categories (id) VALUES (1)"))
	insert := `WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 45000)
		INSERT INTO pets (name, category_id) SELECT 'Bella ' || id, 1 FROM n`
	write(t, store, executing(insert))
	waiting := int64(-1)
	write(t, store, func(tx shop.WriteTx) (err error) {
		waiting, err = tx.BeginImport(shop.MaxWaitingTexts)
		return err
	})
	if waiting != 0 {
		t.Errorf("%d names wait", waiting)
	}
	addNames(t, store, "Rex")
	wantWaiting(t, store, 1)
	wantFound(t, store, "rex", "Rex")
	// A search compares all names before it finds nothing, but not in one page.
	read(t, store, func(tx shop.ReadTx) error {
		page, err := tx.SearchPets(shop.PetList{PetFilter: shop.PetFilter{Query: "quokka"}, PageRequest: shop.PageRequest{Limit: 10}})
		if len(page.Items) > 0 || !page.More || page.Stopped == nil {
			t.Errorf("the page ends at %v with %d pets", page.Stopped, len(page.Items))
		}
		return err
	})
}

// Texts are counted, and neither ids nor rows without a text.
func TestOnlyTextsAreCounted(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addNames(t, store, "Bella")
	write(t, store, executing("INSERT INTO pets (id, name, category_id) VALUES (1000000, 'Rex', 1)"))
	write(t, store, executing("INSERT INTO orders (pet_id, status, reference, created_at, updated_at) VALUES"+
		" (1, 'approved', NULL, 1, 1), (1000000, 'approved', 'Basket', 1, 1)"))
	wantWaiting(t, store, 3)
	write(t, store, indexing(adding("Luna"))) // only the names up to this one wait because of their ids
	wantWaiting(t, store, 3)
	read(t, store, func(tx shop.ReadTx) error {
		n, err := tx.CountUnindexed()
		if n != 3 {
			t.Errorf("%d texts are not indexed, want 3", n)
		}
		return err
	})
}

// If the texts cannot be counted, not every write tries it again.
func TestFailedCountIsNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	ended, end := context.WithCancel(t.Context())
	end()
	if store.indexIsFull(ended); time.Since(store.backlog.counted) > time.Hour {
		t.Errorf("the next write counts again, as at %v", store.backlog.counted)
	}
}

// Imports on several nodes do not exceed the limit together.
func TestImportsOnSeveralNodesCountEachOther(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	const nodes, names, limit = 3, 10, 15
	refused := make([]bool, nodes)
	var all sync.WaitGroup
	for n := range nodes {
		store := open(t, database, Options{})
		all.Go(func() {
			err := store.Write(t.Context(), shop.Writing{Budget: ample}, func(tx shop.WriteTx) error {
				waiting, err := tx.BeginImport(limit)
				if refused[n] = waiting >= limit; err != nil || refused[n] {
					return err
				}
				for i := range names {
					if err := adding(fmt.Sprint(n, " ", i))(tx); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	count := 0
	for _, r := range refused {
		if r {
			count++
		}
	}
	wantWaiting(t, open(t, database, Options{}), 2*names)
	if count != 1 {
		t.Errorf("%d imports were refused, want 1", count)
	}
}

// Imports that run at the same time work with the smallest pool of connections that is accepted, although each of them
// counts the waiting names on a second connection.
func TestImportsWorkWithTheSmallestPool(t *testing.T) {
	t.Parallel()
	database, size := newDatabase(t)+"&pool_max_conns=", 1
	for postgres.CheckURL(database+fmt.Sprint(size)) != nil {
		size++
	}
	store := open(t, database+fmt.Sprint(size), Options{})
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 5 {
				err := store.Write(t.Context(), shop.Writing{Priority: shop.Bulk}, func(tx shop.WriteTx) error {
					if _, err := tx.BeginImport(shop.MaxWaitingTexts); err != nil {
						return err
					}
					return adding(fmt.Sprint(n, " ", i))(tx)
				})
				if err != nil {
					t.Errorf("an import with %d connections: %v", size, err)
					return
				}
			}
		})
	}
	all.Wait()
	wantWaiting(t, store, 20)
}

// Writes on several nodes that index their own names wait for each other and for the indexing job.
func TestWritesOnSeveralNodesIndexTheirNames(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	const nodes, names = 3, 20
	var all sync.WaitGroup
	for n := range nodes {
		store := open(t, database, Options{})
		all.Go(func() {
			for i := range names {
				err := store.Write(t.Context(), shop.Writing{}, indexing(adding(fmt.Sprint("Bella ", n, " ", i))))
				if err == nil && i%4 == 0 {
					write(t, store, adding(fmt.Sprint("Rex ", n, " ", i)))
					_, err = shop.IndexStep(t.Context(), store, nil)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	store := open(t, database, Options{})
	indexAll(t, store)
	wantWaiting(t, store, 0)
	wantNothingMissing(t, store)
}

// wantNothingMissing checks that the index contains every text that does not wait.
func wantNothingMissing(t *testing.T, store *Store) {
	t.Helper()
	conn, err := store.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	must(t, conn.CheckSearch(t.Context(), func(table string, id int64) { t.Errorf("%s %d is missing from the index", table, id) }))
}
