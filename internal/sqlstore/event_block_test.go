package sqlstore

import (
	"testing"
	"time"

	"animalstore/internal/shop"
)

// addEvents adds n events that happened long ago.
func addEvents(t *testing.T, store *Store, n int) {
	t.Helper()
	events := make([]shop.NewEvent, n)
	for i := range events {
		events[i] = shop.NewEvent{Type: shop.PetCreated, Subject: "pets/1", Actor: "keys/1", Data: []byte(`{"current":null,"previous":null}`)}
	}
	write(t, store, func(tx shop.WriteTx) error { return tx.InsertEvents(events...) })
	write(t, store, executing("UPDATE events SET at = 1"))
}

func mustNextBlock(t *testing.T, store *Store) (block shop.EventBlock) {
	t.Helper()
	read(t, store, func(tx shop.ReadTx) (err error) {
		var found bool
		if block, found, err = tx.NextEventBlock(); !found {
			t.Fatal("there is no block")
		}
		return err
	})
	return block
}

func addBlock(t *testing.T, store *Store, block shop.EventBlock) (stored int64) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) error { return tx.AddEventBlock(block) })
	read(t, store, func(tx shop.ReadTx) error {
		stored = selected[int64](t, tx, "SELECT count(*) FROM event_blocks")
		return nil
	})
	return stored
}

// Blocks never overlap, even if two nodes summarize the same events and some of these are removed in between.
func TestBlocksAreStoredOnce(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addEvents(t, store, 2*blockEvents)
	first := mustNextBlock(t, store)
	write(t, store, executing("DELETE FROM events WHERE id <= 10"))
	second := mustNextBlock(t, store)
	if first.Last == second.Last {
		t.Fatalf("the blocks are %v and %v", first, second)
	}
	for _, block := range []shop.EventBlock{second, first, second} {
		if stored := addBlock(t, store, block); stored != 1 {
			t.Errorf("%d blocks are stored, want 1", stored)
		}
	}
}

// A block is not stored if its events have been removed since it was read. Nothing would remove it later.
func TestBlocksOfRemovedEventsAreNotStored(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addEvents(t, store, blockEvents)
	block := mustNextBlock(t, store)
	for more := true; more; {
		write(t, store, func(tx shop.WriteTx) (err error) {
			more, err = tx.RemoveEvents(time.Now(), time.Now(), time.Now())
			return err
		})
	}
	if stored := addBlock(t, store, block); stored != 0 {
		t.Errorf("%d blocks are stored, want none", stored)
	}
}
