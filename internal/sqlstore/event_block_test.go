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

func nextBlocks(t *testing.T, store *Store) (blocks []shop.EventBlock) {
	t.Helper()
	read(t, store, func(tx shop.ReadTx) (err error) {
		blocks, err = tx.NextEventBlocks()
		return err
	})
	return blocks
}

func addBlocks(t *testing.T, store *Store, blocks []shop.EventBlock) (stored int64) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) error { return tx.AddEventBlocks(blocks) })
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
	addEvents(t, store, 3*blockEvents)
	first := nextBlocks(t, store)
	write(t, store, executing("DELETE FROM events WHERE id <= 10"))
	second := nextBlocks(t, store)
	if len(first) != 3 || len(second) != 2 || first[0].Last == second[0].Last {
		t.Fatalf("the blocks are %v and %v", first, second)
	}
	for _, blocks := range [][]shop.EventBlock{second, first, second} {
		if stored := addBlocks(t, store, blocks); stored != 2 {
			t.Errorf("%d blocks are stored, want 2", stored)
		}
	}
}

// A block is not stored if its events have been removed since it was read. Nothing would remove it later.
func TestBlocksOfRemovedEventsAreNotStored(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	addEvents(t, store, 2*blockEvents)
	blocks := nextBlocks(t, store)
	for more := true; more; {
		write(t, store, func(tx shop.WriteTx) (err error) {
			more, err = tx.RemoveEvents(time.Now(), time.Now())
			return err
		})
	}
	if stored := addBlocks(t, store, blocks); len(blocks) != 2 || stored != 0 {
		t.Errorf("of %d blocks, %d are stored, want none of 2", len(blocks), stored)
	}
}
