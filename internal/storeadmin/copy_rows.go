package storeadmin

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"animalstore/internal/sqlstore"
)

// rowReader reads the rows in a table in primary key order and hashes their values. The hash does not depend
// on the engine.
type rowReader struct {
	rows     sqlstore.Rows
	values   []any // the values in the current row
	targets  []any // pointers to the values
	sum      hash.Hash
	buffer   []byte // the current row, encoded for the hash
	n        int64
	last     any // the value in the first column of the last row read
	progress func(rows int64)
}

func (e *endpoint) rows(ctx context.Context, table *copiedTable, progress func(rows int64)) (*rowReader, error) {
	rows, err := e.Query(ctx, table.selection(e.engine))
	if err != nil {
		return nil, err
	}
	n := len(table.columns)
	r := &rowReader{rows: rows, values: make([]any, n), targets: make([]any, n), sum: sha256.New(), progress: progress}
	for i := range r.values {
		r.targets[i] = &r.values[i]
	}
	return r, nil
}

// next returns the next row, or nil after the last row. The returned slice is valid only until next is called
// again.
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

// add appends a value to the buffer. The encoding includes the value's type and length, so two different rows
// never have the same encoding.
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
		return fmt.Errorf("a column has a %T instead of an integer, a text or bytes", value)
	}
	return nil
}

// copied returns the number of rows that were read and their hash.
func (r *rowReader) copied(table *copiedTable) Copied {
	return Copied{Table: table.name, Rows: r.n, Sum: [sha256.Size]byte(r.sum.Sum(nil))}
}
