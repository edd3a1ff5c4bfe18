package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"animalstore/internal/shop"
)

// countPets counts the pets in each category by status. %s stands for further columns. An index on category and status
// contains all columns that the query needs, so the database reads only this index.
const countPets = "SELECT category_id, count(CASE WHEN status = 'available' THEN 1 END), count(CASE WHEN status = 'pending' THEN 1 END), " +
	"count(CASE WHEN status = 'sold' THEN 1 END), count(CASE WHEN status IS NULL THEN 1 END)%s FROM pets GROUP BY category_id"

// CountPets are the statements that count the pets in a store and fill pet_counts and pet_count_progress. Both tables
// must be empty, and all events must have been published.
var CountPets = []string{
	"INSERT INTO pet_counts (" + countColumns + ", total) " + fmt.Sprintf(countPets, ", count(*)"),
	"INSERT INTO pet_count_progress (one, position) SELECT 1, coalesce(max(id), 0) FROM events",
}

// ErrUncounted means that the number of pets in a category is not known, because the store has been damaged.
var ErrUncounted = errors.New("the number of pets in each category is not known")

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
