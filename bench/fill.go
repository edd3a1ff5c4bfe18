package main

import (
	"context"
	"fmt"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
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

// fill creates a store with the given number of animals.
func fill(ctx context.Context, path string, animals int) error {
	return shoptest.Fill(ctx, path, animals, newPet)
}
