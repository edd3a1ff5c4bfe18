package sqlstore

import (
	"errors"
	"math/bits"
	"strings"

	"animalstore/internal/shop"
	"animalstore/internal/sqlite"
)

// batch is what a write has added to the tables that grow with every new animal. It is put into the database many rows at a
// time, before anybody could look for it there: row by row, that took three times as long.
type batch struct {
	pets   []shop.Pet
	events []addedEvent
	counts []statusCount
}

// addedEvent is an event and when it happened.
type addedEvent struct {
	shop.NewEvent
	at int64
}

// statusCount is by how many the animals of a status have become more.
type statusCount struct {
	status shop.Status
	change int
}

// maxPending is how many rows a batch holds at most.
const maxPending = 2_000

func (b *batch) isEmpty() bool { return len(b.pets)+len(b.events)+len(b.counts) == 0 }

func (b *batch) isFull() bool { return len(b.pets)+len(b.events) > maxPending }

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
type inserter[T any] struct {
	columns int
	texts   []string // for 1, 2, 4, … rows
	bind    func(s *sqlite.Stmt, first int, row T) error
}

// maxRows is how many rows one statement inserts at most.
const maxRows = 64

// newInserter makes an inserter; bind gives a row's values to as many parameters, of which it is told the first.
func newInserter[T any](into string, columns int, bind func(s *sqlite.Stmt, first int, row T) error) inserter[T] {
	row := ", (?" + strings.Repeat(", ?", columns-1) + ")"
	i := inserter[T]{columns: columns, bind: bind}
	for n := 1; n <= maxRows; n *= 2 {
		i.texts = append(i.texts, "INSERT OR FAIL INTO "+into+" VALUES "+strings.Repeat(row, n)[2:])
	}
	return i
}

// insert inserts rows in their order.
func (i inserter[T]) insert(c *conn, rows []T) error {
	for len(rows) > 0 {
		size := bits.Len(uint(min(len(rows), maxRows))) - 1
		statement, err := c.prepare(i.texts[size])
		if err != nil {
			return err
		}
		for n, row := range rows[:1<<size] {
			if err := i.bind(statement, 1+n*i.columns, row); err != nil {
				return err
			}
		}
		if err := statement.Run(); err != nil {
			return err
		}
		rows = rows[1<<size:]
	}
	return nil
}

func petInserter() inserter[shop.Pet] {
	return newInserter("pets (id, name, name_folded, category_id, status)", 5, func(s *sqlite.Stmt, first int, pet shop.Pet) error {
		var status error
		if pet.Status == "" {
			status = s.BindNull(first + 4)
		} else {
			status = s.BindText(first+4, string(pet.Status))
		}
		return errors.Join(s.BindInt64(first, pet.ID), s.BindText(first+1, pet.Name), s.BindText(first+2, shop.Fold(pet.Name)),
			s.BindInt64(first+3, pet.CategoryID), status)
	})
}

func eventInserter() inserter[addedEvent] {
	return newInserter("events (type, subject, actor, data, at)", 5, func(s *sqlite.Stmt, first int, e addedEvent) error {
		return errors.Join(s.BindText(first, string(e.Type)), s.BindText(first+1, e.Subject), s.BindText(first+2, e.Actor),
			s.BindTextBytes(first+3, e.Data), s.BindInt64(first+4, e.at))
	})
}
