package shoptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// Fill creates a store with the given number of animals. animal returns the animal for each id, starting with 1. Like
// the service, Fill also writes events and counts, but it writes many animals in one transaction.
func Fill(ctx context.Context, database string, animals int, animal func(id int64) shop.NewPet) (err error) {
	store, err := sqlstore.Open(ctx, database, sqlstore.Options{Exclusive: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err := shop.Open(ctx, store, shop.Options{Environment: shop.Production}); err != nil {
		return err
	}
	const atOnce = 20_000
	for done := 0; done < animals; done += atOnce {
		pets := make([]shop.NewPet, min(atOnce, animals-done))
		for i := range pets {
			pets[i] = animal(int64(done + i + 1))
		}
		err := store.Write(ctx, shop.Writing{}, func(tx shop.WriteTx) error {
			return errors.Join(insertPets(tx, pets), ctx.Err())
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(IndexSearch(ctx, store), SummarizeEvents(ctx, store), FoldCounts(ctx, store))
}

// FoldCounts folds all counts, as the service does in the background.
func FoldCounts(ctx context.Context, store shop.Store) error {
	for {
		waiting := 0
		err := store.Read(ctx, shop.Reading{}, func(tx shop.ReadTx) (err error) {
			waiting, err = tx.WaitingCounts(1)
			return err
		})
		if err != nil || waiting == 0 {
			return err
		}
		if err := store.Write(ctx, shop.Writing{}, func(tx shop.WriteTx) error { return tx.FoldCounts() }); err != nil {
			return err
		}
	}
}

// SummarizeEvents summarizes all events, as the service does in the background.
func SummarizeEvents(ctx context.Context, store shop.Store) error {
	if err := store.Publish(ctx); err != nil {
		return err
	}
	for {
		var block shop.EventBlock
		found := false
		err := store.Read(ctx, shop.Reading{}, func(tx shop.ReadTx) (err error) {
			block, found, err = tx.NextEventBlock()
			return err
		})
		if err != nil || !found {
			return err
		}
		if err := store.Write(ctx, shop.Writing{}, func(tx shop.WriteTx) error { return tx.AddEventBlock(block) }); err != nil {
			return err
		}
	}
}

// IndexSearch adds all animals to the search index. Without this, the service would index them while it is being
// measured.
func IndexSearch(ctx context.Context, store shop.Store) error {
	for batch := (shop.IndexResult{More: true}); batch.More; {
		var err error
		if batch, err = shop.IndexStep(ctx, store, batch.Unfinished); err != nil {
			return err
		}
	}
	return nil
}

// insertPets adds animals, the categories that they need, and the events about both.
func insertPets(tx shop.WriteTx, pets []shop.NewPet) error {
	var events []shop.NewEvent
	record := func(what shop.EventType, subject string, current any) error {
		data, err := json.Marshal(map[string]any{"current": current, "previous": nil})
		events = append(events, shop.NewEvent{Type: what, Subject: subject, Actor: "system", Data: data})
		return err
	}
	categories := make([]int64, len(pets))
	for i, n := range pets {
		categories[i] = n.CategoryID
	}
	created, err := tx.EnsureCategories(categories...)
	if err != nil {
		return err
	}
	for _, id := range created {
		if err := record(shop.CategoryCreated, fmt.Sprintf("categories/%d", id), shop.Category{ID: id}); err != nil {
			return err
		}
	}
	inserted, err := tx.InsertPets(pets...)
	if err != nil {
		return err
	}
	for _, pet := range inserted {
		if err := record(shop.PetCreated, fmt.Sprintf("pets/%d", pet.ID), pet); err != nil {
			return err
		}
	}
	return tx.InsertEvents(events...)
}
