package sqlstore

import (
	"context"
	"math/bits"
	"strings"

	"animalstore/internal/shop"
)

// batch is what a write has added to the tables that grow with every new animal. It is put into the database many rows at a
// time, before anybody could look for it there: row by row, that took three times as long.
type batch struct {
	pets   []any // the columns of one row after the other
	events []any
	counts []statusCount
}

// statusCount is by how many the animals of a status have become more.
type statusCount struct {
	status shop.Status
	change int
}

// maxPending is how many columns a batch holds at most.
const maxPending = 10_000

func (b *batch) isEmpty() bool { return len(b.pets)+len(b.events)+len(b.counts) == 0 }

func (b *batch) isFull() bool { return len(b.pets)+len(b.events) > maxPending }

func (b *batch) addPet(pet shop.Pet) {
	var status any
	if pet.Status != "" {
		status = string(pet.Status)
	}
	b.pets = append(b.pets, pet.ID, pet.Name, shop.Fold(pet.Name), pet.CategoryID, status)
}

func (b *batch) addEvent(e shop.NewEvent, at int64) {
	b.events = append(b.events, string(e.Type), e.Subject, e.Actor, string(e.Data), at) // a driver knows strings at sight
}

func (b *batch) count(status shop.Status, change int) {
	for i := range b.counts {
		if b.counts[i].status == status {
			b.counts[i].change += change
			return
		}
	}
	b.counts = append(b.counts, statusCount{status, change})
}

// take moves all of another batch to the end of this one.
func (b *batch) take(other *batch) {
	b.pets, b.events = append(b.pets, other.pets...), append(b.events, other.events...)
	for _, c := range other.counts {
		b.count(c.status, c.change)
	}
	other.clear()
}

func (b *batch) clear() {
	clear(b.pets) // the names and texts are not kept any longer
	clear(b.events)
	b.pets, b.events, b.counts = b.pets[:0], b.events[:0], b.counts[:0]
}

// inserter writes statements that insert several rows at once. What fails ends the whole transaction, so that they need not be
// ready to undo themselves alone (OR FAIL), which takes a seventh of their time.
type inserter struct {
	columns int
	texts   []string // for 1, 2, 4, … rows
}

// maxRows is how many rows one statement inserts at most.
const maxRows = 64

func newInserter(into string, columns int) inserter {
	row := ", (?" + strings.Repeat(", ?", columns-1) + ")"
	i := inserter{columns: columns}
	for n := 1; n <= maxRows; n *= 2 {
		i.texts = append(i.texts, "INSERT OR FAIL INTO "+into+" VALUES "+strings.Repeat(row, n)[2:])
	}
	return i
}

// insert inserts rows in their order.
func (i inserter) insert(ctx context.Context, c *conn, rows []any) error {
	for len(rows) > 0 {
		size := bits.Len(uint(min(len(rows)/i.columns, maxRows))) - 1
		n := i.columns << size
		if err := c.exec(ctx, i.texts[size], rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}
