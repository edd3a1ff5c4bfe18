package storeadmin

import (
	"context"
	"errors"
	"fmt"
	"os"

	"animalstore/internal/sqlstore"
)

// CopyProgress says how many rows in a table have been copied or checked so far.
type CopyProgress struct {
	Doing string // "copying" or "checking"
	Table string
	Rows  int64
	Of    int64 // the total number of rows in the table
}

// Copied describes a table that has the same rows in the source and in the target. Sum is the SHA-256 hash of
// all rows.
type Copied struct {
	Table string
	Rows  int64
	Sum   [32]byte
	// Last is the last id that the table has assigned, even if the row with this id was removed. It is 0 if
	// the table has assigned no ids.
	Last int64
}

var errSameDatabase = errors.New("source and target are the same database")

// Copy copies a whole store into an empty database on the same engine or the other one. It copies all ids and
// the last id that each table has assigned. Copy compares every row before it commits, so the target contains
// either the whole store or nothing. It calls progress often, from one goroutine at a time.
//
// A SQLite file must not be in use during the copy, neither as the source nor as the target. A PostgreSQL
// server may be in use if it is the source, because Copy reads one snapshot.
func Copy(ctx context.Context, from, to string, progress func(CopyProgress)) ([]Copied, error) {
	if sameFile(from, to) {
		return nil, errSameDatabase
	}
	source, err := openEndpoint(ctx, from, sqlstore.Options{Exclusive: true, Existing: true})
	if err != nil {
		return nil, fmt.Errorf("the source: %w", err)
	}
	defer source.close() // the error can be ignored because the source was only read
	if err := source.beginRead(ctx); err != nil {
		return nil, fmt.Errorf("the source: %w", err)
	}
	target, err := openEndpoint(ctx, to, sqlstore.Options{Exclusive: true})
	if err != nil {
		return nil, fmt.Errorf("the target: %w", err)
	}
	copied, err := copyStore(ctx, source, target, progress)
	if closing := target.close(); err == nil && closing != nil {
		err = fmt.Errorf("the target: %w", closing)
	}
	if err != nil {
		return nil, err
	}
	return copied, nil
}

// sameFile reports whether two paths lead to the same existing file.
func sameFile(a, b string) bool {
	if sqlstore.IsURL(a) || sqlstore.IsURL(b) {
		return false
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// copyStore copies all tables from source to target in one transaction on the target.
func copyStore(ctx context.Context, source, target *endpoint, progress func(CopyProgress)) ([]Copied, error) {
	same, err := source.sameAs(ctx, target)
	if err != nil {
		return nil, err
	}
	if same {
		return nil, errSameDatabase
	}
	if err := target.beginWrite(ctx); err != nil {
		return nil, fmt.Errorf("the target: %w", err)
	}
	copied := make([]Copied, len(copiedTables))
	for i, table := range copiedTables {
		if copied[i], err = copyTable(ctx, source, target, &table, progress); err != nil {
			return nil, fmt.Errorf("nothing was copied: copying %s: %w", table.name, err)
		}
	}
	for i, table := range copiedTables {
		found, err := readTable(ctx, target, &table, counting(progress, "checking", table.name, copied[i].Rows))
		if err != nil {
			return nil, fmt.Errorf("nothing was copied: checking %s: %w", table.name, err)
		}
		if found != copied[i] {
			return nil, fmt.Errorf("nothing was copied: the source has %s; the target would have %s", copied[i], found)
		}
	}
	return copied, target.commit(ctx)
}

func copyTable(ctx context.Context, source, target *endpoint, table *copiedTable, progress func(CopyProgress)) (Copied, error) {
	of, err := number(ctx, source.Conn, "SELECT count(*) FROM "+table.name)
	if err != nil {
		return Copied{}, err
	}
	rows, err := source.rows(ctx, table, counting(progress, "copying", table.name, of))
	if err != nil {
		return Copied{}, err
	}
	defer rows.rows.Close()
	if err := target.Insert(ctx, table.name, table.columnNames(), rows.next); err != nil {
		return Copied{}, err
	}
	copied := rows.copied(table)
	// The last id is read after the rows. So it is not too small, even if the server is assigning ids at the same time.
	if copied.Last, err = source.lastID(ctx, table); err != nil {
		return Copied{}, err
	}
	// Unpublished events are copied with ids that the source has not assigned yet, so the last copied id is considered
	// as well.
	if table.hasSequence && copied.Rows > 0 {
		copied.Last = max(copied.Last, rows.last.(int64))
	}
	return copied, setLastID(ctx, target.Conn, table, copied.Last)
}

// readTable reads all rows in a table and returns their number and hash.
func readTable(ctx context.Context, e *endpoint, table *copiedTable, progress func(rows int64)) (Copied, error) {
	rows, err := e.rows(ctx, table, progress)
	if err != nil {
		return Copied{}, err
	}
	defer rows.rows.Close()
	for {
		row, err := rows.next()
		if err != nil {
			return Copied{}, err
		}
		if row == nil {
			break
		}
	}
	found := rows.copied(table)
	found.Last, err = e.lastID(ctx, table)
	return found, err
}

func counting(progress func(CopyProgress), doing, table string, of int64) func(rows int64) {
	return func(rows int64) { progress(CopyProgress{doing, table, rows, of}) }
}

// String returns a one-line summary for the operator.
func (c Copied) String() string {
	line := fmt.Sprintf("%s %d rows, sha256 %x", c.Table, c.Rows, c.Sum)
	if c.Last > 0 {
		line += fmt.Sprintf(", ids go on after %d", c.Last)
	}
	return line
}
