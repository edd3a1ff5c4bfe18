package sqlstore

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/postgres"
)

// countChanges says how writes change the counts, for each category and period.
type countChanges map[countKey]*countChange

type countKey struct {
	categoryID int64
	period     int64 // the beginning of the period in microseconds since 1970
}

type countChange struct {
	shop.Inventory
	arrivals, sales int64
}

func (c *countChanges) of(categoryID, period int64) *countChange {
	if *c == nil {
		*c = countChanges{}
	}
	key := countKey{categoryID, period}
	change := (*c)[key]
	if change == nil {
		change = &countChange{}
		(*c)[key] = change
	}
	return change
}

// addPet adds n to the number of pets with a category and a status.
func (c *countChanges) addPet(period, categoryID int64, status shop.Status, n int64) {
	c.of(categoryID, period).Add(status, n)
}

// addNew counts a new pet, which has arrived in the given period.
func (c *countChanges) addNew(period int64, pet shop.NewPet) {
	change := c.of(pet.CategoryID, period)
	change.Add(pet.Status, +1)
	change.arrivals++
}

// addUpdate counts a change to a pet. A sale counts in the period of u.SaleAt, if that is set.
func (c *countChanges) addUpdate(period int64, u shop.PetUpdate) {
	c.addPet(period, u.Before.CategoryID, u.Before.Status, -1)
	c.addPet(period, u.After.CategoryID, u.After.Status, +1)
	if !u.SaleAt.IsZero() {
		period = periodOf(u.SaleAt)
	}
	switch {
	case u.IsSale():
		c.of(u.After.CategoryID, period).sales++
	case u.TakesBackSale():
		c.of(u.After.CategoryID, period).sales--
	}
}

// add adds other changes.
func (c *countChanges) add(other countChanges) {
	for key, change := range other {
		sum := c.of(key.categoryID, key.period)
		sum.Inventory = sum.Plus(change.Inventory)
		sum.arrivals, sum.sales = sum.arrivals+change.arrivals, sum.sales+change.sales
	}
}

// countRow is a row of pet_count_changes.
type countRow struct {
	countKey
	countChange
}

// rows returns the changes that are not zero, in ascending order.
func (c countChanges) rows() (rows []countRow) {
	for key, change := range c {
		if *change != (countChange{}) {
			rows = append(rows, countRow{key, *change})
		}
	}
	slices.SortFunc(rows, func(a, b countRow) int {
		return cmp.Or(cmp.Compare(a.categoryID, b.categoryID), cmp.Compare(a.period, b.period))
	})
	return rows
}

var (
	// countInsertion inserts the changes of a known period. countInsertionNow inserts the changes of the current period
	// by the server's clock.
	countInsertion    = &engine.Insertion{Table: "pet_count_changes", Columns: "begins_at, " + countColumns + ", arrivals, sales", Types: countTypes}
	countInsertionNow = &engine.Insertion{Table: countInsertion.Table, Columns: countInsertion.Columns, Types: countTypes[1:],
		First: fmt.Sprintf("%s / %[2]d * %[2]d", postgres.NowMicros, shop.StatsPeriod.Microseconds())}
	countTypes = slices.Repeat([]string{"BIGINT"}, 8)
)

// appendCounts appends the row's values to args, except for its period.
func appendCounts(args []any, r countRow) []any {
	return append(args, r.categoryID, r.Available, r.Pending, r.Sold, r.Unspecified, r.arrivals, r.sales)
}

// periodOf returns the beginning of the period that contains a time, in microseconds since 1970.
func periodOf(at time.Time) int64 {
	m := micros(at)
	return m - m%shop.StatsPeriod.Microseconds()
}

// addCounts calls count for the changes to the counts and adds them. The period is 0 if the statement that adds the
// changes reads the server's clock itself.
func (t *tx) addCounts(count func(changes *countChanges, period int64)) error {
	t.touched |= touchedCatalog
	var changes countChanges
	if t.dialect.clock != nil {
		count(&changes, periodOf(t.dialect.clock()))
		return t.dialect.addCounts(t, changes)
	}
	count(&changes, 0)
	now := changes.rows()
	isNow := func(r countRow) bool { return r.period == 0 }
	if err := insertCountRows(t, slices.DeleteFunc(slices.Clone(now), isNow)); err != nil {
		return err
	}
	now = slices.DeleteFunc(now, func(r countRow) bool { return !isNow(r) })
	return t.Insert(countInsertionNow, len(now), func(args []any, row int) []any { return appendCounts(args, now[row]) })
}

// insertCounts inserts the changes into the queue pet_count_changes.
func insertCounts(w engine.Writer, changes countChanges) error {
	return insertCountRows(w, changes.rows())
}

func insertCountRows(w engine.Writer, rows []countRow) error {
	return w.Insert(countInsertion, len(rows), func(args []any, row int) []any { return appendCounts(append(args, rows[row].period), rows[row]) })
}

// updateCounts updates the rows of the counts, each of them once for all writes of a unit.
func updateCounts(w engine.Writer, changes countChanges) error {
	var all shop.Inventory
	periods := map[int64]countChange{}
	for _, r := range changes.rows() {
		all = all.Plus(r.Inventory)
		period := periods[r.period]
		periods[r.period] = countChange{arrivals: period.arrivals + r.arrivals, sales: period.sales + r.sales}
		if r.Inventory == (shop.Inventory{}) {
			continue
		}
		err := w.Exec(addCategoryCount, r.categoryID, r.Available, r.Pending, r.Sold, r.Unspecified, r.Total())
		if err == nil && r.Total() < 0 {
			err = w.Exec("DELETE FROM pet_counts WHERE category_id = $1 AND total = 0", r.categoryID)
		}
		if err != nil {
			return err
		}
	}
	if all != (shop.Inventory{}) {
		if err := w.Exec(addInventory, all.Available, all.Pending, all.Sold, all.Unspecified); err != nil {
			return err
		}
	}
	for begin, period := range periods {
		if period != (countChange{}) {
			if err := w.Exec(addPeriod, begin, period.arrivals, period.sales); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	addInventory = "UPDATE inventory SET available = available + $1, pending = pending + $2, sold = sold + $3, unspecified = unspecified + $4" +
		" WHERE one = 1"
	addCategoryCount = "INSERT INTO pet_counts (" + countColumns + ", total) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (category_id) DO UPDATE SET" +
		" available = available + $2, pending = pending + $3, sold = sold + $4, unspecified = unspecified + $5, total = total + $6"
	addPeriod = "INSERT INTO pet_periods (" + periodColumns + ") VALUES ($1, $2, $3) ON CONFLICT (begins_at) DO UPDATE SET" +
		" arrivals = arrivals + $2, sales = sales + $3"
)
