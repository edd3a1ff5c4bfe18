package sqlstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"animalstore/internal/shop"
)

const petColumns = "id, name, category_id, coalesce(status, '')"

// scanPets reads one animal after the other into the same place: pages of them are read more often than all else.
func scanPets() func(scanner) (shop.Pet, error) {
	var pet shop.Pet
	columns := []any{&pet.ID, &pet.Name, &pet.CategoryID, (*string)(&pet.Status)}
	return func(scan scanner) (shop.Pet, error) {
		err := scan(columns...)
		return pet, err
	}
}

func (t *tx) Pet(id int64) (shop.Pet, bool, error) {
	return one(t, scanPets(), "SELECT "+petColumns+" FROM pets WHERE id = $1", id)
}

func (t *tx) Pets(list shop.PetList) ([]shop.Pet, error) {
	query, args := petsQuery(t.dialect, list)
	return atMost(t, list.Limit, scanPets(), query, args...)
}

// petsQuery writes the query of a list. In a file, one index serves a category with a status and without: its animals are looked
// for in each status by themselves, and merged. Another index would make each new animal a sixth dearer.
func petsQuery(d *dialect, list shop.PetList) (query string, args []any) {
	if list.CategoryID == nil || list.Status != "" || d.byRow {
		return petConditions(d, list).page("SELECT "+petColumns+" FROM pets", list.PageRequest, "id < %s", "id DESC")
	}
	var parts []string
	for _, status := range append(shop.Statuses(), "") {
		c := petConditions(d, list)
		c.texts = append(c.texts, statusIs(status))
		query, args = c.page("SELECT id FROM pets", list.PageRequest, "id < %s", "id DESC") // the same values for each
		parts = append(parts, "SELECT id FROM ("+query+")")
	}
	return fmt.Sprintf("SELECT %s FROM pets WHERE id IN (%s) ORDER BY id DESC LIMIT %d", petColumns, strings.Join(parts, " UNION ALL "), list.Limit), args
}

// petConditions are those of a list. Only the filters that are set are among them, so that the planner finds the index that is
// made for them.
func petConditions(d *dialect, list shop.PetList) *conditions {
	c := &conditions{byRow: d.byRow}
	if list.CategoryID != nil {
		c.equal("category_id", *list.CategoryID)
	}
	switch {
	case list.Status == "":
	case d.byRow:
		c.equal("status", list.Status)
	default:
		c.texts = append(c.texts, statusIs(list.Status))
	}
	if list.Query != "" {
		c.add(d.contains, shop.Fold(list.Query))
	}
	if len(list.IDs) > 0 {
		addIn(c, "id", list.IDs)
	}
	return c
}

// statusIs is the condition that an animal has a status, or none. It stands in the text: a file has an index for each status.
func statusIs(status shop.Status) string {
	switch {
	case status == "":
		return "status IS NULL"
	case slices.Contains(shop.Statuses(), status):
		return "status = '" + string(status) + "'"
	default:
		return "FALSE" // no animal has another
	}
}

// CountPets reads the index that has just the two columns, in their order.
func (t *tx) CountPets() ([]shop.PetCount, error) {
	return all(t, func(scan scanner) (count shop.PetCount, err error) {
		err = scan(&count.CategoryID, (*string)(&count.Status), &count.N)
		return count, err
	}, "SELECT category_id, coalesce(status, ''), count(*) FROM pets GROUP BY category_id, status")
}

func (t *tx) HasPets() (bool, error) {
	_, found, err := one(t, scanValue[int64], "SELECT id FROM pets LIMIT 1")
	return found, err
}

func (t *tx) InsertPet(n shop.NewPet) (shop.Pet, error) {
	if err := t.needCategory(n.CategoryID); err != nil {
		return shop.Pet{}, err
	}
	if t.group != nil {
		return t.addPet(n)
	}
	pet, _, err := one(t, scanPets(),
		"INSERT INTO pets (name, name_folded, category_id, status) VALUES ($1, $2, $3, $4) RETURNING "+petColumns,
		n.Name, shop.Fold(n.Name), n.CategoryID, nullable(n.Status))
	if err != nil {
		return shop.Pet{}, err
	}
	return pet, t.count(n.Status, +1)
}

func (t *tx) UpdatePet(before, after shop.Pet) error {
	t.changed = true
	if before.CategoryID != after.CategoryID {
		if err := t.needCategory(after.CategoryID); err != nil {
			return err
		}
	}
	if before.Status != after.Status {
		if err := errors.Join(t.count(before.Status, -1), t.count(after.Status, +1)); err != nil {
			return err
		}
	}
	return t.exec("UPDATE pets SET name = $1, name_folded = $2, category_id = $3, status = $4 WHERE id = $5",
		after.Name, shop.Fold(after.Name), after.CategoryID, nullable(after.Status), after.ID)
}

func (t *tx) DeletePet(pet shop.Pet) error {
	if err := t.count(pet.Status, -1); err != nil {
		return err
	}
	return t.exec("DELETE FROM pets WHERE id = $1", pet.ID)
}

func (t *tx) Inventory() (shop.Inventory, error) {
	type count struct {
		status shop.Status
		n      int64
	}
	counts, err := all(t, func(scan scanner) (c count, err error) {
		err = scan(&c.status, &c.n)
		return c, err
	}, t.dialect.inventory)
	var inventory shop.Inventory
	for _, c := range counts {
		switch c.status {
		case shop.Available:
			inventory.Available = c.n
		case shop.Pending:
			inventory.Pending = c.n
		case shop.Sold:
			inventory.Sold = c.n
		default:
			inventory.Unspecified = c.n
		}
	}
	return inventory, err
}
