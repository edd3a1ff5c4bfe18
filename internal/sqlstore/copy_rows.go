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
	rows   rows
	values []any // of the row at hand
	places []any // where they are scanned to
	sum    hash.Hash
	text   []byte // what is added to the sum
	n      int64
	last   any // the first value of the last row
	tell   func(rows int64)
}

func (e *end) rows(ctx context.Context, table *copiedTable, tell func(rows int64)) (*rowReader, error) {
	rows, err := e.query(ctx, table.selection(e.dialect, e.engine.collation), nil)
	if err != nil {
		return nil, err
	}
	n := len(table.columns)
	r := &rowReader{rows: rows, values: make([]any, n), places: make([]any, n), sum: sha256.New(), tell: tell}
	for i := range r.values {
		r.places[i] = &r.values[i]
	}
	return r, nil
}

// next returns the next row, which is good until the one after it, or nil after the last.
func (r *rowReader) next() ([]any, error) {
	if !r.rows.Next() {
		r.tell(r.n)
		return nil, r.rows.Err()
	}
	if err := r.rows.Scan(r.places...); err != nil {
		return nil, err
	}
	r.text = r.text[:0]
	for _, value := range r.values {
		if err := r.add(value); err != nil {
			return nil, err
		}
	}
	r.sum.Write(r.text)
	r.last = r.values[0]
	if r.n++; r.n%1000 == 0 {
		r.tell(r.n)
	}
	return r.values, nil
}

// add writes a value so that no two rows look alike: what it is, how long it is, and itself.
func (r *rowReader) add(value any) error {
	switch v := value.(type) {
	case nil:
		r.text = append(r.text, 'n')
	case int64:
		r.text = binary.BigEndian.AppendUint64(append(r.text, 'i'), uint64(v))
	case string:
		r.text = append(binary.BigEndian.AppendUint64(append(r.text, 't'), uint64(len(v))), v...)
	case []byte:
		r.text = append(binary.BigEndian.AppendUint64(append(r.text, 'b'), uint64(len(v))), v...)
	default:
		return fmt.Errorf("there is a %T where a number, a text or bytes were expected", value)
	}
	return nil
}

// copied is what was read.
func (r *rowReader) copied(table *copiedTable) Copied {
	return Copied{Table: table.name, Rows: r.n, Sum: [sha256.Size]byte(r.sum.Sum(nil))}
}
