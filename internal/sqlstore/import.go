package sqlstore

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"animalstore/internal/shop"
)

// rowsAtOnce is how many rows one statement writes or asks for: with a hundred, an import into a file takes two thirds of
// the time that it takes row by row.
const rowsAtOnce = 100

// inParts calls a function with parts of a list, and with the VALUES of a statement that writes one, made of a row such as
// ($, $). There are a few sizes only: each has a statement of its own, to be prepared once.
func inParts[T any](t *tx, list []T, row string, fn func(part []T, values string) error) error {
	for _, size := range []int{rowsAtOnce, 10, 1} {
		for values := ""; len(list) >= size; list = list[size:] {
			if values == "" {
				values = t.dialect.places(strings.Repeat(row+", ", size-1) + row)
			}
			if err := fn(list[:size], values); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbered gives each $ of a text its number.
func numbered(text string) string {
	parts := strings.Split(text, "$")
	var all strings.Builder
	for i, part := range parts {
		if i > 0 {
			fmt.Fprintf(&all, "$%d", i)
		}
		all.WriteString(part)
	}
	return all.String()
}

// unnumbered is numbered for SQLite, which looks up every number of a long statement among all of them.
func unnumbered(text string) string { return strings.ReplaceAll(text, "$", "?") }

var errNoIDs = errors.New("the ids of animals are used up")

// sqlitePetIDs are those that AUTOINCREMENT would give: nobody else writes in this transaction.
func sqlitePetIDs(t *tx, n int) ([]int64, error) {
	last, _, err := one(t, scanValue[int64], "SELECT seq FROM sqlite_sequence WHERE name = 'pets'")
	if err != nil {
		return nil, err
	}
	if last > math.MaxInt64-int64(n) {
		return nil, t.fail(errNoIDs)
	}
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = last + int64(i) + 1
	}
	return ids, nil
}

func postgresPetIDs(t *tx, n int) ([]int64, error) {
	ids, err := all(t, scanValue[int64], "SELECT nextval('pets_id_seq') FROM generate_series(1, CAST($1 AS BIGINT))", n)
	slices.Sort(ids)
	return ids, err
}

// InsertPets takes the ids first, so that nothing depends on the order in which a statement returns its rows.
func (t *tx) InsertPets(list []shop.NewPet) ([]shop.Pet, error) {
	ids, err := t.dialect.petIDs(t, len(list))
	if err != nil {
		return nil, err
	}
	counts := map[shop.Status]int{}
	pets := make([]shop.Pet, len(list))
	for i, n := range list {
		pets[i] = shop.Pet{ID: ids[i], Name: n.Name, CategoryID: n.CategoryID, Status: n.Status}
		counts[n.Status]++
	}
	err = inParts(t, pets, "($, $, $, $, $)", func(part []shop.Pet, values string) error {
		args := make([]any, 0, 5*len(part))
		for _, pet := range part {
			args = append(args, pet.ID, pet.Name, shop.Fold(pet.Name), pet.CategoryID, nullable(pet.Status))
		}
		return t.exec("INSERT INTO pets (id, name, name_folded, category_id, status) VALUES "+values, args...)
	})
	for status, n := range counts {
		if err == nil {
			err = t.count(status, n)
		}
	}
	return pets, err
}

func (t *tx) InsertEvents(events []shop.NewEvent) error {
	row, at := "($, $, $, $, "+t.dialect.eventTime+")", []any{}
	if t.dialect.eventTime == "$5" {
		now, err := t.Now()
		if err != nil {
			return err
		}
		row, at = "($, $, $, $, $)", []any{micros(now)}
	}
	return inParts(t, events, row, func(part []shop.NewEvent, values string) error {
		args := make([]any, 0, 5*len(part))
		for _, e := range part {
			args = append(append(args, e.Type, e.Subject, e.Actor, string(e.Data)), at...)
		}
		return t.exec("INSERT INTO "+t.dialect.inbox+" (type, subject, actor, data, at) VALUES "+values, args...)
	})
}

func (t *tx) EnsureCategories(ids []int64) (created []int64, err error) {
	err = inParts(t, ids, "($)", func(part []int64, values string) error {
		some, err := all(t, scanValue[int64], "INSERT INTO categories (id) VALUES "+values+" ON CONFLICT (id) DO NOTHING RETURNING id", anys(part)...)
		created = append(created, some...)
		return err
	})
	slices.Sort(created)
	return created, err
}

func (t *tx) KnownCategories(ids []int64) (known []int64, err error) {
	err = inParts(t, ids, "$", func(part []int64, values string) error {
		some, err := all(t, scanValue[int64], "SELECT id FROM categories WHERE id IN ("+values+")", anys(part)...)
		known = append(known, some...)
		return err
	})
	return known, err
}

func anys[T any](values []T) []any {
	all := make([]any, len(values))
	for i, value := range values {
		all[i] = value
	}
	return all
}
