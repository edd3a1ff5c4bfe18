package sqlstore

import (
	"context"
	"fmt"
	"maps"

	"animalstore/internal/shop"
)

// CheckCounts compares the counts of each category with the pets in it, and calls differ if they are not equal.
// counted is the number of pets according to the counts, and found is the number of pets that exist. CheckCounts
// fails with ErrUncounted if the counts are not known.
func (c *Conn) CheckCounts(ctx context.Context, differ func(category int64, counted, found shop.Inventory)) error {
	dialect := sqliteDialect(nil)
	if c.Engine == Postgres {
		dialect = postgresDialect(nil)
	}
	t := &tx{ctx: ctx, runner: c.runner, dialect: dialect}
	counted, err := t.recentCounts()
	if err != nil {
		return err
	}
	stored, err := all(t, scanCount, "SELECT "+countColumns+" FROM pet_counts")
	if err != nil {
		return err
	}
	counted.add(stored)
	pets, err := all(t, scanCount, fmt.Sprintf(countPets, ""))
	if err != nil {
		return err
	}
	found := petCounts{}
	found.add(pets)
	categories := petCounts{}
	maps.Copy(categories, counted)
	maps.Copy(categories, found)
	for id := range categories {
		if counted[id] != found[id] {
			differ(id, counted[id], found[id])
		}
	}
	return nil
}
