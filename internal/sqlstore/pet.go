package sqlstore

import (
	"fmt"
	"slices"
	"strings"

	"animalstore/internal/shop"
)

// petColumns are the columns that queries read. petFields are the columns that statements write, except for the id.
const (
	petColumns = "id, name, category_id, coalesce(status, '')"
	petFields  = "name, name_folded, category_id, status"
)

// scanPets returns a function that scans one pet. The function reuses its variables for every row, because
// pages of pets are the most frequent query.
func scanPets() func(Scanner) (shop.Pet, error) {
	var pet shop.Pet
	columns := []any{&pet.ID, &pet.Name, &pet.CategoryID, (*string)(&pet.Status)}
	return func(scan Scanner) (shop.Pet, error) {
		err := scan(columns...)
		return pet, err
	}
}

// Statements that write the columns in petFields, and the number of these columns.
var (
	petFieldCount = strings.Count(petFields, ",") + 1
	insertPet     = numbered("INSERT INTO pets (" + petFields + ") VALUES " + placeholders(petFieldCount) + " RETURNING " + petColumns)
	restorePet    = numbered("INSERT INTO pets (id, " + petFields + ") VALUES " + placeholders(1+petFieldCount))
	updatePet     = numbered("UPDATE pets SET (" + petFields + ") = " + placeholders(petFieldCount) + " WHERE id = $")
	// updatePets updates several pets. %s stands for a query that returns their ids and new values.
	updatePets = "UPDATE pets SET (" + petFields + ") = (new." + strings.ReplaceAll(petFields, ", ", ", new.") + ") " +
		"FROM (%s) AS new (id, " + petFields + ") WHERE pets.id = new.id"
	// petTypes are the SQL types of the values that appendPet appends.
	petTypes = []string{"BIGINT", "TEXT", "TEXT", "BIGINT", "TEXT"}
	// petRow casts each value, because PostgreSQL cannot infer the types in an UPDATE of several rows.
	petRow = "(CAST($ AS " + strings.Join(petTypes, "), CAST($ AS ") + "))"
)

// appendPet appends the pet's id and one value for each of petFields to args. name_folded is written only for nodes
// of version 1.0, which read it during an upgrade.
func appendPet(args []any, pet shop.Pet) []any {
	return append(args, pet.ID, pet.Name, shop.Fold(pet.Name), pet.CategoryID, nullable(string(pet.Status)))
}

func scanPet(scan Scanner) (shop.Pet, error) { return scanPets()(scan) }

func (t *tx) Pet(id int64) (shop.Pet, bool, error) {
	return one(t, scanPet, "SELECT "+petColumns+" FROM pets WHERE id = $1", id)
}

func (t *tx) Pets(list shop.PetList) ([]shop.Pet, error) {
	query, args := petsQuery(t.dialect, list)
	return allUpTo(t, list.Limit, scanPets(), query, args...)
}

// petsQuery returns the query for one page of pets. In SQLite, lists that are filtered by category use an index on
// category and status. If there is no status filter, the query reads one page for each status and merges these pages.
// With another index on the category alone, each insert would take a sixth longer.
func petsQuery(d *dialect, list shop.PetList) (query string, args []any) {
	after, order := "id < %s", "id DESC"
	if list.OldestFirst {
		after, order = "id > %s", "id"
	}
	table := " FROM pets"
	if list.CategoryID != nil && len(list.IDs) == 0 {
		table += d.byCategory
	}
	if list.CategoryID == nil || list.Status != "" || list.NoStatus || d.byRow {
		c := petConditions(d, list)
		if list.NoStatus && d.byRow { // a row value cannot be compared with NULL
			order = c.order(!list.OldestFirst, "status", "id")
		}
		return c.page("SELECT "+petColumns+table, list.PageRequest, after, order)
	}
	var parts []string
	for _, status := range append(shop.Statuses(), "") {
		c := petConditions(d, list)
		c.texts = append(c.texts, statusIs(status))
		// The arguments are the same for every status, so those of the last query are returned.
		query, args = c.page("SELECT id"+table, list.PageRequest, after, order)
		parts = append(parts, "SELECT id FROM ("+query+")")
	}
	query = fmt.Sprintf("SELECT %s FROM pets WHERE id IN (%s) ORDER BY %s LIMIT %d",
		petColumns, strings.Join(parts, " UNION ALL "), order, list.Limit)
	return query, args
}

// petConditions returns the SQL conditions for the filters of a list.
func petConditions(d *dialect, list shop.PetList) *conditions {
	c := &conditions{byRow: d.byRow}
	switch {
	case list.CategoryID == nil:
	case list.Status == "" && !list.NoStatus:
		c.equal("category_id", *list.CategoryID)
	default:
		c.equalFirst("category_id", *list.CategoryID)
	}
	switch {
	case list.NoStatus:
		c.texts = append(c.texts, statusIs(""))
	case list.Status == "":
	case d.byRow:
		c.equal("status", list.Status)
	default:
		c.texts = append(c.texts, statusIs(list.Status))
	}
	if len(list.IDs) > 0 {
		addIn(c, "id", list.IDs)
	}
	return c
}

// statusIs returns the condition that a pet has the given status, or that it has no status if status is
// empty. The status is written into the text of the query, because SQLite has a partial index for each
// status.
func statusIs(status shop.Status) string {
	switch {
	case status == "":
		return "status IS NULL"
	case slices.Contains(shop.Statuses(), status):
		return "status = '" + string(status) + "'"
	default:
		return "FALSE" // no pet has any other status
	}
}

func (t *tx) PetsByID(ids []int64) ([]shop.Pet, error) {
	return allIn(t, ids, scanPets(), "SELECT "+petColumns+" FROM pets WHERE id IN (%s)")
}

func (t *tx) HasPets() (bool, error) {
	_, found, err := one(t, scanValue[int64], "SELECT id FROM pets LIMIT 1")
	return found, err
}

func (t *tx) InsertPets(list ...shop.NewPet) ([]shop.Pet, error) {
	t.catalog = true
	return t.rowWriter().insertPets(list)
}

func (t *tx) UpdatePets(updates ...shop.PetUpdate) error {
	pets := make([]shop.Pet, len(updates))
	for i, u := range updates {
		if u.Before.CategoryID != u.After.CategoryID {
			if err := t.rowWriter().requireCategory(u.After.CategoryID); err != nil {
				return err
			}
		}
		pets[i] = u.After
	}
	err := t.addCounts(func(changes *countChanges, period int64) {
		for _, u := range updates {
			changes.addUpdate(period, u)
		}
	})
	if err != nil {
		return err
	}
	return t.rowWriter().updatePets(pets)
}

func (t *tx) RestorePet(pet shop.Pet) error {
	if err := t.rowWriter().requireCategory(pet.CategoryID); err != nil {
		return err
	}
	if err := t.addPet(pet, +1); err != nil {
		return err
	}
	return t.exec(restorePet, appendPet(nil, pet)...)
}

func (t *tx) DeletePet(pet shop.Pet) error {
	if err := t.addPet(pet, -1); err != nil {
		return err
	}
	return t.exec("DELETE FROM pets WHERE id = $1", pet.ID)
}

// addPet adds n to the number of pets with the category and status of a pet.
func (t *tx) addPet(pet shop.Pet, n int64) error {
	return t.addCounts(func(changes *countChanges, period int64) { changes.addPet(period, pet.CategoryID, pet.Status, n) })
}
