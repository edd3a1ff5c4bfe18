package sqlstore

import (
	"fmt"
	"slices"
	"strings"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/postgres"
)

// petColumns are the columns that queries read. petFields are the columns that statements write, except for the id.
const (
	petColumns = "id, name, category_id, coalesce(status, '')"
	petFields  = "name, category_id, status"
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

// Statements that write the columns in petFields.
var (
	petInsertion = &engine.Insertion{Table: "pets", Columns: "id, " + petFields + ", name_key", Types: append(slices.Clone(petTypes), "TEXT")}
	petUpdate    = rowUpdate{
		one: "UPDATE pets SET name = $2, category_id = $3, status = $4, status_changes = status_changes + $5 WHERE id = $1",
		many: "UPDATE pets SET name = new.name, category_id = new.category_id, status = new.status, status_changes = pets.status_changes + new.changes" +
			" FROM (SELECT * FROM " + postgres.Unnest(petUpdateTypes) + ") AS new (id, name, category_id, status, changes) WHERE pets.id = new.id",
		types: petUpdateTypes,
	}
	// petTypes are the SQL types of the values that appendPet appends.
	petTypes = []string{"BIGINT", "TEXT", "BIGINT", "TEXT"}
	// petUpdateTypes are the SQL types of the values of petUpdate.
	petUpdateTypes = append(slices.Clone(petTypes), "BIGINT")
)

// countedPet is a pet with the number of its status changes: all of them, or those that are not saved yet.
type countedPet struct {
	shop.Pet
	statusChanges int64
	published     bool
}

const countedPetColumns = petColumns + ", status_changes, published"

func scanCountedPet(scan Scanner) (pet countedPet, err error) {
	var published int64
	pet.Pet, err = scanPet(func(columns ...any) error { return scan(append(columns, &pet.statusChanges, &published)...) })
	pet.published = published == 1
	return pet, err
}

// statusChanges returns by how much an update increases the number of the pet's status changes.
func statusChanges(u shop.PetUpdate) int64 { return number(u.Before.Status != u.After.Status) }

// appendPet appends the pet's id and one value for each of petFields to args.
func appendPet(args []any, pet shop.Pet) []any {
	return append(args, pet.ID, pet.Name, pet.CategoryID, nullable(string(pet.Status)))
}

func scanPet(scan Scanner) (shop.Pet, error) { return scanPets()(scan) }

func (t *tx) Pet(id int64) (shop.Pet, bool, error) {
	return one(t, scanPet, "SELECT "+petColumns+" FROM pets WHERE id = $1", id)
}

func (t *tx) StatusChanges(id int64) (int64, error) {
	n, _, err := one(t, scanValue[int64], "SELECT status_changes FROM pets WHERE id = $1", id)
	return n, err
}

func (t *tx) Pets(list shop.PetList) ([]shop.Pet, error) {
	query, args := petsQuery(t.dialect, petColumns, list)
	return engine.AllUpTo(t.Tx, list.Limit, scanPets(), query, args...)
}

// petsQuery returns the query for the given columns of one page of pets. In SQLite, lists that are filtered by category use an index on
// category and status. If there is no status filter, the query reads one page for each status and merges these pages.
// With another index on the category alone, each insert would take a sixth longer.
func petsQuery(d *dialect, columns string, list shop.PetList) (query string, args []any) {
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
		return c.page("SELECT "+columns+table, list.PageRequest, after, order)
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
		columns, strings.Join(parts, " UNION ALL "), order, list.Limit)
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
	ids, err := t.dialect.newPetIDs(t, len(list))
	if err != nil {
		return nil, err
	}
	pets := make([]shop.Pet, len(list))
	for i, n := range list {
		pets[i] = n.WithID(ids[i])
	}
	if err := t.addPets(pets); err != nil {
		return nil, err
	}
	return pets, t.addCounts(func(changes *countChanges, period int64) {
		for _, n := range list {
			changes.addNew(period, n)
		}
	})
}

// RestorePet inserts a pet with an id that was assigned earlier.
func (t *tx) RestorePet(pet shop.Pet) error {
	if err := t.addPets([]shop.Pet{pet}); err != nil {
		return err
	}
	if err := t.restoreProfile(pet); err != nil {
		return err
	}
	return t.countPet(pet, +1)
}

// addPets inserts pets without counting them.
func (t *tx) addPets(pets []shop.Pet) error {
	categories := make([]int64, len(pets))
	for i, pet := range pets {
		categories[i] = pet.CategoryID
	}
	if err := t.requireCategories(categories); err != nil {
		return err
	}
	for _, pet := range pets {
		t.textChanged(petNames, pet.ID)
	}
	return t.dialect.insertPets(t, pets)
}

func (d *dialect) insertPets(w engine.Writer, pets []shop.Pet) error {
	return w.Insert(petInsertion, len(pets), func(args []any, row int) []any {
		key := ""
		if d.keysNewNames {
			key = shop.NameKey(pets[row].Name)
		}
		return append(appendPet(args, pets[row]), nullable(key))
	})
}

func (t *tx) UpdatePets(updates ...shop.PetUpdate) error {
	pets, moved, ids := make([]countedPet, len(updates)), []int64{}, make([]int64, len(updates))
	for i, u := range updates {
		ids[i] = u.After.ID
		if u.Before.CategoryID != u.After.CategoryID {
			moved = append(moved, u.After.CategoryID)
		}
		if pets[i] = (countedPet{Pet: u.After, statusChanges: statusChanges(u)}); u.Before.Name != u.After.Name {
			t.textChanged(petNames, u.After.ID)
		}
	}
	if err := t.requireCategories(moved); err != nil {
		return err
	}
	if err := t.touchWindow(ids...); err != nil {
		return err
	}
	err := t.addCounts(func(changes *countChanges, period int64) {
		for _, u := range updates {
			changes.addUpdate(period, u)
		}
	})
	if err != nil {
		return err
	}
	return t.dialect.updatePets(t, pets)
}

func (d *dialect) updatePets(w engine.Writer, pets []countedPet) error {
	return d.update(w, petUpdate, len(pets), func(args []any, row int) []any {
		return append(appendPet(args, pets[row].Pet), pets[row].statusChanges)
	})
}

func (t *tx) DeletePet(pet shop.Pet) error {
	if err := t.countPet(pet, -1); err != nil {
		return err
	}
	if err := t.keepProfile(pet); err != nil {
		return err
	}
	if err := t.lockPet(pet.ID); err != nil {
		return err
	}
	if err := t.Exec(keepStatusChanges, pet.ID); err != nil {
		return err
	}
	t.textChanged(petNames, pet.ID)
	return t.Exec("DELETE FROM pets WHERE id = $1", pet.ID)
}

// keepStatusChanges stores, in the orders of a pet that is about to be deleted, whether its status has changed since. If
// the pet is restored, its status changes are counted from 0 again, so an order after which the status has not changed
// gets this number, and every other order a number that the pet never has.
const keepStatusChanges = "UPDATE orders SET pet_status_changes = CASE WHEN pet_status_changes = (SELECT status_changes FROM pets WHERE id = $1)" +
	" THEN 0 ELSE -1 END WHERE pet_id = $1 AND pet_status_changes IS NOT NULL"

// countPet adds n to the number of pets with the category and status of a pet.
func (t *tx) countPet(pet shop.Pet, n int64) error {
	return t.addCounts(func(changes *countChanges, period int64) { changes.addPet(period, pet.CategoryID, pet.Status, n) })
}
