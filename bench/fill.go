package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// The numbers of animals in an empty, a small and a large store, and the number of categories.
const (
	none       = 0
	small      = 100_000
	large      = 1_000_000
	categories = 20
)

// newPet returns the animal with the given id. Eight out of ten animals are available.
func newPet(id int64) shop.NewPet {
	status := shop.Available
	switch (id - 1) % 10 {
	case 8:
		status = shop.Pending
	case 9:
		status = shop.Sold
	}
	return shop.NewPet{Name: fmt.Sprintf("Animal %d", id), CategoryID: id%categories + 1, Status: status}
}

// available returns how many animals are available in a store with the given number of animals.
func available(animals int) int { return animals / 10 * 8 }

// availableID returns the id of the nth available animal, counting from 0.
func availableID(n int) int64 { return int64(n/8*10 + n%8 + 1) }

// fill creates a store with the given number of animals. Like the service, it also writes events and counts,
// but it writes many animals in one transaction.
func fill(ctx context.Context, path string, animals int) (err error) {
	store, err := sqlstore.Open(ctx, path, sqlstore.Options{Exclusive: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if _, err := shop.Open(ctx, store, shop.Options{Environment: "production"}); err != nil {
		return err
	}
	const atOnce = 20_000
	for done := 0; done < animals; done += atOnce {
		err := store.Write(ctx, func(tx shop.WriteTx) error {
			for i := range min(atOnce, animals-done) {
				if err := insert(tx, newPet(int64(done+i+1))); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return indexSearch(ctx, store)
}

// indexSearch adds all animals to the search index, because the service would do this during the measurement.
func indexSearch(ctx context.Context, store shop.Store) error {
	for more := true; more; {
		err := store.Write(ctx, func(tx shop.WriteTx) (err error) {
			_, more, err = tx.IndexSearch()
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func insert(tx shop.WriteTx, n shop.NewPet) error {
	created, err := tx.EnsureCategories(n.CategoryID)
	if err == nil && len(created) > 0 {
		err = appendEvent(tx, shop.CategoryCreated, fmt.Sprintf("categories/%d", n.CategoryID), shop.Category{ID: n.CategoryID})
	}
	if err != nil {
		return err
	}
	pets, err := tx.InsertPets(n)
	if err != nil {
		return err
	}
	return appendEvent(tx, shop.PetCreated, fmt.Sprintf("pets/%d", pets[0].ID), pets[0])
}

func appendEvent(tx shop.WriteTx, what shop.EventType, subject string, current any) error {
	data, err := json.Marshal(map[string]any{"current": current, "previous": nil})
	if err != nil {
		return err
	}
	return tx.InsertEvents(shop.NewEvent{Type: what, Subject: subject, Actor: "system", Data: data})
}
