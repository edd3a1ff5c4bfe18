package sqlstore

import (
	"fmt"
	"slices"
	"strings"

	"animalstore/internal/shop"
)

// What follows does for many what is done for one elsewhere. In a file that is the same, again and again: new rows are put
// there together in any case. To a server, every statement is a journey, so each takes many rows.

// rowsAtOnce is how many rows one statement writes or asks for.
const rowsAtOnce = 500

// inParts calls a function with parts of a list, and with the places of their values, made of a row such as ($, $). There
// are a few sizes only: each has a statement of its own, to be prepared once.
func inParts[T any](list []T, row string, fn func(part []T, places string) error) error {
	for _, size := range []int{rowsAtOnce, rowsAtOnce / 10, 1} {
		for places := ""; len(list) >= size; list = list[size:] {
			if places == "" {
				places = numbered(strings.Repeat(row+", ", size-1) + row)
			}
			if err := fn(list[:size], places); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbered gives each $ of a text its number.
func numbered(text string) string {
	var all strings.Builder
	for i, part := range strings.Split(text, "$") {
		if i > 0 {
			fmt.Fprintf(&all, "$%d", i)
		}
		all.WriteString(part)
	}
	return all.String()
}

// InsertPets takes the ids first, so that nothing depends on the order in which a statement returns its rows.
func (t *tx) InsertPets(list []shop.NewPet) ([]shop.Pet, error) {
	if t.group != nil {
		return each(list, t.InsertPet)
	}
	ids, err := all(t, scanValue[int64], "SELECT nextval('pets_id_seq') FROM generate_series(1, CAST($1 AS BIGINT))", len(list))
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	counts := map[shop.Status]int{}
	pets := make([]shop.Pet, len(list))
	for i, n := range list {
		pets[i] = shop.Pet{ID: ids[i], Name: n.Name, CategoryID: n.CategoryID, Status: n.Status}
		counts[n.Status]++
	}
	err = inParts(pets, "($, $, $, $, $)", func(part []shop.Pet, places string) error {
		args := make([]any, 0, 5*len(part))
		for _, pet := range part {
			args = append(args, pet.ID, pet.Name, shop.Fold(pet.Name), pet.CategoryID, nullable(pet.Status))
		}
		return t.exec("INSERT INTO pets (id, name, name_folded, category_id, status) VALUES "+places, args...)
	})
	for status, n := range counts {
		if err == nil {
			err = t.count(status, n)
		}
	}
	return pets, err
}

func (t *tx) InsertEvents(events []shop.NewEvent) error {
	if t.group != nil {
		_, err := each(events, func(e shop.NewEvent) (struct{}, error) { return struct{}{}, t.InsertEvent(e) })
		return err
	}
	row, at := "($, $, $, $, "+t.dialect.time+")", []any{}
	if t.dialect.time == "" {
		now, err := t.Now()
		if err != nil {
			return err
		}
		row, at = "($, $, $, $, $)", []any{micros(now)}
	}
	return inParts(events, row, func(part []shop.NewEvent, places string) error {
		args := make([]any, 0, 5*len(part))
		for _, e := range part {
			args = append(append(args, e.Type, e.Subject, e.Actor, string(e.Data)), at...)
		}
		return t.exec("INSERT INTO "+t.dialect.inbox+" (type, subject, actor, data, at) VALUES "+places, args...)
	})
}

func (t *tx) EnsureCategories(ids []int64) (created []int64, err error) {
	if t.group != nil {
		for _, id := range ids {
			isNew, err := t.EnsureCategory(id)
			if err != nil {
				return nil, err
			}
			if isNew {
				created = append(created, id)
			}
		}
		return created, nil
	}
	err = inParts(ids, "($)", func(part []int64, places string) error {
		some, err := all(t, scanValue[int64], "INSERT INTO categories (id) VALUES "+places+" ON CONFLICT (id) DO NOTHING RETURNING id", anys(part)...)
		created = append(created, some...)
		return err
	})
	slices.Sort(created)
	return created, err
}

func (t *tx) ExistingCategories(ids []int64) (known []int64, err error) {
	err = inParts(ids, "$", func(part []int64, places string) error {
		some, err := all(t, scanValue[int64], "SELECT id FROM categories WHERE id IN ("+places+")", anys(part)...)
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

// each does something with one after the other, and returns what came of it.
func each[T, R any](list []T, do func(T) (R, error)) ([]R, error) {
	results := make([]R, len(list))
	for i, item := range list {
		var err error
		if results[i], err = do(item); err != nil {
			return nil, err
		}
	}
	return results, nil
}
