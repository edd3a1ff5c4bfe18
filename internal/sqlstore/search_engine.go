package sqlstore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"animalstore/internal/sqlstore/postgres"
)

// searchEngine contains the statements for the search index that differ between the engines. On PostgreSQL,
// each statement handles many rows, because every statement costs a round trip.
type searchEngine interface {
	// newest returns, for each gram, the n postings with the highest blocks that are not above the given block,
	// highest block first.
	newest(t *tx, of *searchable, grams []int64, block int64, n int) ([][]posting, error)
	// load returns the ids of the postings with the given keys.
	load(t *tx, of *searchable, keys []postingKey) (map[postingKey][]byte, error)
	// store replaces the postings with the given keys. It deletes the postings for which ids contains an empty set.
	store(t *tx, of *searchable, keys []postingKey, ids [][]byte) error
	// changes returns at most n changes that have not been indexed yet, in any order.
	changes(t *tx, of *searchable, n int) ([]textChange, error)
	// forget deletes changes that have been indexed. all is true if the transaction sees no other changes.
	forget(t *tx, of *searchable, changes []textChange, all bool) error
	// byID returns a condition that selects the rows with the given ids, and the arguments of this condition.
	byID(ids []int64) (condition string, args []any)
}

// rowsByID returns the rows of a table with the given ids in no particular order.
func rowsByID[T any](t *tx, table, columns string, scan func(Scanner) (T, error), ids []int64) ([]T, error) {
	condition, args := t.dialect.search.byID(ids)
	return allUpTo(t, len(ids), scan, "SELECT "+columns+" FROM "+table+" WHERE "+condition, args...)
}

func scanPosting(scan Scanner) (p posting, err error) {
	err = scan(&p.block, &p.ids)
	return p, err
}

// sqliteSearch executes a statement for each row, because a statement costs little in SQLite.
type sqliteSearch struct{}

func (sqliteSearch) newest(t *tx, of *searchable, grams []int64, block int64, n int) ([][]posting, error) {
	query := fmt.Sprintf("SELECT block, ids FROM %s WHERE gram = $1 AND block <= $2 ORDER BY block DESC LIMIT %d", of.index, n)
	lists := make([][]posting, len(grams))
	for i, gram := range grams {
		var err error
		if lists[i], err = all(t, scanPosting, query, gram, block); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

func (sqliteSearch) load(t *tx, of *searchable, keys []postingKey) (map[postingKey][]byte, error) {
	loaded := make(map[postingKey][]byte, len(keys))
	for _, key := range keys {
		ids, found, err := one(t, scanValue[[]byte], "SELECT ids FROM "+of.index+" WHERE gram = $1 AND block = $2", key.gram, key.block)
		if err != nil {
			return nil, err
		}
		if found {
			loaded[key] = ids
		}
	}
	return loaded, nil
}

func (sqliteSearch) store(t *tx, of *searchable, keys []postingKey, ids [][]byte) error {
	for i, key := range keys {
		var err error
		if len(ids[i]) > 0 {
			err = t.exec("INSERT INTO "+of.index+" (gram, block, ids) VALUES ($1, $2, $3) ON CONFLICT DO UPDATE SET ids = excluded.ids",
				key.gram, key.block, ids[i])
		} else {
			err = t.exec("DELETE FROM "+of.index+" WHERE gram = $1 AND block = $2", key.gram, key.block)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (sqliteSearch) changes(t *tx, of *searchable, n int) ([]textChange, error) {
	return all(t, scanChange, selectChanges+of.changes+" LIMIT $1", n)
}

func (sqliteSearch) forget(t *tx, of *searchable, changes []textChange, _ bool) error {
	for _, c := range changes {
		if err := t.exec("DELETE FROM "+of.changes+" WHERE id = $1 AND seq = $2", c.id, c.seq); err != nil {
			return err
		}
	}
	return nil
}

// byID repeats the last id until the number of ids is a power of four, so that only a few different
// statements have to be prepared.
func (sqliteSearch) byID(ids []int64) (condition string, args []any) {
	size := 4
	for size < len(ids) {
		size *= 4
	}
	args = anys(ids)
	for len(args) < size {
		args = append(args, ids[len(ids)-1])
	}
	return "id IN " + numbered(placeholders(size)), args
}

// postgresSearch passes lists as arrays, so that one statement handles many rows.
type postgresSearch struct{}

func (postgresSearch) newest(t *tx, of *searchable, grams []int64, block int64, n int) ([][]posting, error) {
	lists := make([][]posting, len(grams))
	type numberedPosting struct {
		n int64
		posting
	}
	rows, err := all(t, func(scan Scanner) (p numberedPosting, err error) {
		err = scan(&p.n, &p.block, &p.ids)
		return p, err
	}, fmt.Sprintf(`
		SELECT g.n, p.block, p.ids FROM unnest(CAST($1 AS BIGINT[])) WITH ORDINALITY AS g (gram, n) CROSS JOIN LATERAL (
			SELECT block, ids FROM %s AS s WHERE s.gram = g.gram AND s.block <= $2 ORDER BY s.gram DESC, s.block DESC LIMIT %d
		) AS p`, of.index, n), grams, block)
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

func (postgresSearch) load(t *tx, of *searchable, keys []postingKey) (map[postingKey][]byte, error) {
	grams, blocks := columnsOf(keys)
	loaded := make(map[postingKey][]byte, len(keys))
	_, err := all(t, func(scan Scanner) (none struct{}, err error) {
		var key postingKey
		var ids []byte
		err = scan(&key.gram, &key.block, &ids)
		loaded[key] = ids
		return none, err
	}, "SELECT s.gram, s.block, s.ids FROM "+keysIn+" JOIN "+of.index+" AS s ON s.gram = k.gram AND s.block = k.block", grams, blocks)
	return loaded, err
}

func (postgresSearch) store(t *tx, of *searchable, keys []postingKey, ids [][]byte) error {
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
		if err := t.exec("DELETE FROM "+of.index+" AS s USING "+keysIn+" WHERE s.gram = k.gram AND s.block = k.block", grams, blocks); err != nil {
			return err
		}
	}
	grams, blocks := columnsOf(stored)
	return t.exec("INSERT INTO "+of.index+" (gram, block, ids) SELECT * FROM"+
		" unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BYTEA[]))"+
		" ON CONFLICT (gram, block) DO UPDATE SET ids = excluded.ids", grams, blocks, sets)
}

func (postgresSearch) changes(t *tx, of *searchable, n int) ([]textChange, error) {
	return all(t, scanChange, oldestChanges(of), n)
}

// oldestChanges returns a query for changes in the order of their transactions. The index on xid has this order, so
// the query reads only the changes that it returns, however many are waiting.
func oldestChanges(of *searchable) string {
	return selectChanges + of.changes + " WHERE " + postgres.FromWatermark(of.changes) + " ORDER BY xid LIMIT $1"
}

func (postgresSearch) forget(t *tx, of *searchable, changes []textChange, all bool) error {
	keys := make([]postingKey, len(changes)) // here, each key contains the id and seq of a change
	for i, c := range changes {
		keys[i] = postingKey{c.id, c.seq}
	}
	ids, seqs := columnsOf(keys)
	with := ""
	if all {
		with = "WITH " + postgres.MoveWatermark(of.changes, "TRUE") + " "
	}
	return t.exec(with+"DELETE FROM "+of.changes+" AS c USING "+strings.Replace(keysIn, "gram, block", "id, seq", 1)+
		" WHERE c.id = k.id AND c.seq = k.seq", ids, seqs)
}

func (postgresSearch) byID(ids []int64) (condition string, args []any) {
	return "id = ANY (CAST($1 AS BIGINT[]))", []any{ids}
}
