package storeadmin

import (
	"context"
	"errors"
	"fmt"
	"os"

	"animalstore/internal/sqlstore"
)

// CopyProgress is the progress of a copy.
type CopyProgress struct {
	Doing string // "copying" or "checking"
	Table string
	Rows  int64
	Of    int64 // the number of rows at the start
}

// Copied describes a table that is equal in source and target: its number of rows, and the SHA-256 of them
// all.
type Copied struct {
	Table string
	Rows  int64
	Sum   [32]byte
	// Last is the last id that the table has assigned, even if that row was removed; 0 if it assigns none.
	Last int64
}

var errSameDatabase = errors.New("source and target are the same database")

// Copy copies a whole store into an empty database of either engine, with all ids and the last assigned ids.
// It compares every row before it commits: the target has the whole store or nothing. Copy calls progress
// often, from one goroutine at a time.
//
// A file must not be in use meanwhile, neither as source nor as target. A server as the source may be in use:
// Copy reads one snapshot.
func Copy(ctx context.Context, from, to string, progress func(CopyProgress)) ([]Copied, error) {
	if sameFile(from, to) {
		return nil, errSameDatabase
	}
	source, err := openEndpoint(ctx, from, sqlstore.Options{Exclusive: true, Existing: true})
	if err != nil {
		return nil, fmt.Errorf("the source: %w", err)
	}
	defer source.close() // it was only read
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

// sameFile reports whether two paths lead to the same file.
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

// copyStore copies between two endpoints, in one transaction of the target.
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
	// Read after the rows: a server in use may have assigned more ids since, but not fewer.
	if copied.Last, err = source.lastID(ctx, table); err != nil {
		return Copied{}, err
	}
	if table.hasSequence && copied.Rows > 0 { // unpublished events have ids that the source has yet to assign
		copied.Last = max(copied.Last, rows.last.(int64))
	}
	return copied, setLastID(ctx, target.Conn, table, copied.Last)
}

// readTable reads a table to hash it.
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

// String returns a line for the operator.
func (c Copied) String() string {
	line := fmt.Sprintf("%s %d rows, sha256 %x", c.Table, c.Rows, c.Sum)
	if c.Last > 0 {
		line += fmt.Sprintf(", ids go on after %d", c.Last)
	}
	return line
}
