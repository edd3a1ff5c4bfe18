package wordindex

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"animalstore/internal/sqlstore/engine"
)

// statements contains the statements for the index that differ between the engines. On PostgreSQL,
// each statement handles many rows, because every statement costs a round trip.
type statements interface {
	// newest returns, for each gram, the n postings with the highest blocks that are not above the given block,
	// highest block first.
	newest(t *engine.Tx, of *List, grams []int64, block int64, n int) ([][]posting, error)
	// load returns the ids of the postings with the given keys.
	load(t *engine.Tx, of *List, keys []postingKey) (map[postingKey][]byte, error)
	// store replaces the postings with the given keys. It deletes the postings for which ids contains an empty set.
	store(t *engine.Tx, of *List, keys []postingKey, ids [][]byte) error
	// changes returns at most n changes that have not been indexed yet, in any order.
	changes(t *engine.Tx, of *List, n int) ([]textChange, error)
	// forget deletes changes that have been indexed. all is true if the transaction sees no other changes.
	forget(t *engine.Tx, of *List, changes []textChange, all bool) error
	// queue returns a table expression for the rows in the table of changes.
	queue(table string) string
	// lastChange returns an aggregate over the seqs of a row's changes in the queue. Its value is never the same for different changes.
	lastChange() string
	// byID returns a condition that selects the rows with the given ids, and the arguments of this condition.
	byID(ids []int64) (condition string, args []any)
}

// rowsByID returns the rows of a table with the given ids in no particular order.
func rowsByID[T any](t *engine.Tx, x *Index, table, columns string, scan func(engine.Scanner) (T, error), ids []int64) ([]T, error) {
	condition, args := x.statements.byID(ids)
	return engine.AllUpTo(t, len(ids), scan, "SELECT "+columns+" FROM "+table+" WHERE "+condition, args...)
}

func scanPosting(scan engine.Scanner) (p posting, err error) {
	err = scan(&p.block, &p.ids)
	return p, err
}

// sqliteStatements executes a statement for each row, because a statement costs little in SQLite.
type sqliteStatements struct{}

func (sqliteStatements) queue(table string) string { return table }

func (sqliteStatements) lastChange() string { return "max(seq)" }

func (sqliteStatements) newest(t *engine.Tx, of *List, grams []int64, block int64, n int) ([][]posting, error) {
	query := fmt.Sprintf("SELECT block, ids FROM %s WHERE gram = $1 AND block <= $2 ORDER BY block DESC LIMIT %d", of.Index, n)
	lists := make([][]posting, len(grams))
	for i, gram := range grams {
		var err error
		if lists[i], err = engine.All(t, scanPosting, query, gram, block); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

func (sqliteStatements) load(t *engine.Tx, of *List, keys []postingKey) (map[postingKey][]byte, error) {
	loaded := make(map[postingKey][]byte, len(keys))
	for _, key := range keys {
		ids, found, err := engine.One(t, engine.ScanValue[[]byte], "SELECT ids FROM "+of.Index+" WHERE gram = $1 AND block = $2", key.gram, key.block)
		if err != nil {
			return nil, err
		}
		if found {
			loaded[key] = ids
		}
	}
	return loaded, nil
}

func (sqliteStatements) store(t *engine.Tx, of *List, keys []postingKey, ids [][]byte) error {
	for i, key := range keys {
		var err error
		if len(ids[i]) > 0 {
			err = t.Exec("INSERT INTO "+of.Index+" (gram, block, ids) VALUES ($1, $2, $3) ON CONFLICT DO UPDATE SET ids = excluded.ids",
				key.gram, key.block, ids[i])
		} else {
			err = t.Exec("DELETE FROM "+of.Index+" WHERE gram = $1 AND block = $2", key.gram, key.block)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (sqliteStatements) changes(t *engine.Tx, of *List, n int) ([]textChange, error) {
	return engine.All(t, scanChange, selectChanges+of.Changes+" LIMIT $1", n)
}

func (sqliteStatements) forget(t *engine.Tx, of *List, changes []textChange, _ bool) error {
	for _, c := range changes {
		if err := t.Exec("DELETE FROM "+of.Changes+" WHERE id = $1 AND seq = $2", c.id, c.seq); err != nil {
			return err
		}
	}
	return nil
}

// byID repeats the last id until the number of ids is a power of four, so that only a few different
// statements have to be prepared.
func (sqliteStatements) byID(ids []int64) (condition string, args []any) {
	size := 4
	for size < len(ids) {
		size *= 4
	}
	var places strings.Builder
	for i := range size {
		fmt.Fprintf(&places, ", $%d", i+1)
		args = append(args, ids[min(i, len(ids)-1)])
	}
	return "id IN (" + places.String()[2:] + ")", args
}

// postgresStatements passes lists as arrays, so that one statement handles many rows.
type postgresStatements struct{ watermarks Watermarks }

func (s postgresStatements) queue(table string) string { return s.watermarks.Waiting(table) }

// lastChange adds the seqs, because they are random numbers: a later one may be lower.
func (postgresStatements) lastChange() string { return "CAST(sum(seq) AS BIGINT)" }

func (postgresStatements) newest(t *engine.Tx, of *List, grams []int64, block int64, n int) ([][]posting, error) {
	lists := make([][]posting, len(grams))
	type numberedPosting struct {
		n int64
		posting
	}
	rows, err := engine.All(t, func(scan engine.Scanner) (p numberedPosting, err error) {
		err = scan(&p.n, &p.block, &p.ids)
		return p, err
	}, fmt.Sprintf(`
		SELECT g.n, p.block, p.ids FROM unnest(CAST($1 AS BIGINT[])) WITH ORDINALITY AS g (gram, n) CROSS JOIN LATERAL (
			SELECT block, ids FROM %s AS s WHERE s.gram = g.gram AND s.block <= $2 ORDER BY s.gram DESC, s.block DESC LIMIT %d
		) AS p`, of.Index, n), grams, block)
	for _, row := range rows {
		lists[row.n-1] = append(lists[row.n-1], row.posting)
	}
	for _, list := range lists {
		slices.SortFunc(list, func(a, b posting) int { return cmp.Compare(b.block, a.block) })
	}
	return lists, err
}

func columnsOf(keys []postingKey) (grams, blocks []int64) {
	for _, key := range keys {
		grams, blocks = append(grams, key.gram), append(blocks, key.block)
	}
	return grams, blocks
}

// keysIn is a table expression for posting keys. $1 is the array of their grams, and $2 is the array of their blocks.
const keysIn = "unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[])) AS k (gram, block)"

func (postgresStatements) load(t *engine.Tx, of *List, keys []postingKey) (map[postingKey][]byte, error) {
	grams, blocks := columnsOf(keys)
	loaded := make(map[postingKey][]byte, len(keys))
	_, err := engine.All(t, func(scan engine.Scanner) (none struct{}, err error) {
		var key postingKey
		var ids []byte
		err = scan(&key.gram, &key.block, &ids)
		loaded[key] = ids
		return none, err
	}, "SELECT s.gram, s.block, s.ids FROM "+keysIn+" JOIN "+of.Index+" AS s ON s.gram = k.gram AND s.block = k.block", grams, blocks)
	return loaded, err
}

func (postgresStatements) store(t *engine.Tx, of *List, keys []postingKey, ids [][]byte) error {
	var stored, empty []postingKey
	var sets [][]byte
	for i, key := range keys {
		if len(ids[i]) > 0 {
			stored, sets = append(stored, key), append(sets, ids[i])
		} else {
			empty = append(empty, key)
		}
	}
	if len(empty) > 0 {
		grams, blocks := columnsOf(empty)
		if err := t.Exec("DELETE FROM "+of.Index+" AS s USING "+keysIn+" WHERE s.gram = k.gram AND s.block = k.block", grams, blocks); err != nil {
			return err
		}
	}
	grams, blocks := columnsOf(stored)
	return t.Exec("INSERT INTO "+of.Index+" (gram, block, ids) SELECT * FROM"+
		" unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BYTEA[]))"+
		" ON CONFLICT (gram, block) DO UPDATE SET ids = excluded.ids", grams, blocks, sets)
}

func (s postgresStatements) changes(t *engine.Tx, of *List, n int) ([]textChange, error) {
	return engine.All(t, scanChange, s.watermarks.oldestChanges(of), n)
}

// oldestChanges returns a query for changes in the order of their transactions. The index on xid has this order, so
// the query reads only the changes that it returns, however many are waiting.
func (w Watermarks) oldestChanges(of *List) string {
	return selectChanges + of.Changes + " WHERE " + w.From(of.Changes) + " ORDER BY xid LIMIT $1"
}

func (s postgresStatements) forget(t *engine.Tx, of *List, changes []textChange, all bool) error {
	keys := make([]postingKey, len(changes)) // here, each key contains the id and seq of a change
	for i, c := range changes {
		keys[i] = postingKey{c.id, c.seq}
	}
	ids, seqs := columnsOf(keys)
	with := ""
	if all {
		with = "WITH " + s.watermarks.Move(of.Changes, "TRUE") + " "
	}
	return t.Exec(with+"DELETE FROM "+of.Changes+" AS c USING "+strings.Replace(keysIn, "gram, block", "id, seq", 1)+
		" WHERE c.id = k.id AND c.seq = k.seq", ids, seqs)
}

func (postgresStatements) byID(ids []int64) (condition string, args []any) {
	return "id = ANY (CAST($1 AS BIGINT[]))", []any{ids}
}
