package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
)

// rowReader reads a table from its first row to its last, one at a time, and sums up what it has read. The sum is the
// same wherever the rows are: it is over their values in the order of the primary key, and not over what an engine stores.
type rowReader struct {
	rows     rows
	values   []any // of the row at hand
	targets  []any // where they are scanned to
	sum      hash.Hash
	buffer   []byte // what is added to the sum
	n        int64
	last     any // the first value of the last row
	progress func(rows int64)
}

func (e *endpoint) rows(ctx context.Context, table *copiedTable, tell func(rows int64)) (*rowReader, error) {
	rows, err := e.query(ctx, table.selection(e.dialect, e.engine.collation), nil)
	if err != nil {
		return nil, err
	}
	n := len(table.columns)
	r := &rowReader{rows: rows, values: make([]any, n), targets: make([]any, n), sum: sha256.New(), progress: tell}
	for i := range r.values {
		r.targets[i] = &r.values[i]
	}
	return r, nil
}

// next returns the next row, which is good until the one after it, or nil after the last.
func (r *rowReader) next() ([]any, error) {
	if !r.rows.Next() {
		r.progress(r.n)
		return nil, r.rows.Err()
	}
	if err := r.rows.Scan(r.targets...); err != nil {
		return nil, err
	}
	r.buffer = r.buffer[:0]
	for _, value := range r.values {
		if err := r.add(value); err != nil {
			return nil, err
		}
	}
	r.sum.Write(r.buffer)
	r.last = r.values[0]
	if r.n++; r.n%1000 == 0 {
		r.progress(r.n)
	}
	return r.values, nil
}

// add writes a value so that no two rows look alike: what it is, how long it is, and itself.
func (r *rowReader) add(value any) error {
	switch v := value.(type) {
	case nil:
		r.buffer = append(r.buffer, 'n')
	case int64:
		r.buffer = binary.BigEndian.AppendUint64(append(r.buffer, 'i'), uint64(v))
	case string:
		r.buffer = append(binary.BigEndian.AppendUint64(append(r.buffer, 't'), uint64(len(v))), v...)
	case []byte:
		r.buffer = append(binary.BigEndian.AppendUint64(append(r.buffer, 'b'), uint64(len(v))), v...)
	default:
		return fmt.Errorf("there is a %T where a number, a text or bytes were expected", value)
	}
	return nil
}

// copied is what was read.
func (r *rowReader) copied(table *copiedTable) Copied {
	return Copied{Table: table.name, Rows: r.n, Sum: [sha256.Size]byte(r.sum.Sum(nil))}
}
