package wordindex

import (
	"fmt"
	"math"

	"animalstore/internal/sqlstore/engine"
)

// Check calls missing for every row that should have been indexed, but is missing from the index for at least one gram of
// its text. A search might not find such a row.
func (x *Index) Check(t *engine.Tx, missing func(table string, id int64)) error {
	for _, of := range x.lists {
		p, err := readProgress(t, of)
		if err != nil {
			return err
		}
		for after := int64(0); after < math.MaxInt64; {
			after, err = x.checkRows(t, of, p, after, func(id int64) { missing(of.Table, id) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRows checks one batch of the rows whose ids are greater than after. It returns the id of the last row in
// the batch, or math.MaxInt64 if there are no more rows.
func (x *Index) checkRows(t *engine.Tx, of *List, p progress, after int64, missing func(id int64)) (last int64, err error) {
	const batch = 2000
	rows, err := engine.All(t, scanText, fmt.Sprintf("SELECT id, %s FROM %s WHERE id > $1 ORDER BY id LIMIT %d", of.Text, of.Table, batch), after)
	if err != nil || len(rows) == 0 {
		return math.MaxInt64, err
	}
	last = rows[len(rows)-1].id
	changes, err := engine.All(t, engine.ScanValue[int64], "SELECT id FROM "+of.Changes+" WHERE id > $1 AND id <= $2", after, last)
	if err != nil {
		return 0, err
	}
	unindexed := map[int64]bool{}
	for _, id := range changes {
		unindexed[id] = true
	}
	keys := map[postingKey]bool{}
	var list []postingKey
	for _, row := range rows {
		for _, gram := range x.gramsOf(row.text) {
			if key := (postingKey{gram, blockOf(row.id)}); !keys[key] {
				keys[key] = true
				list = append(list, key)
			}
		}
	}
	loaded, err := x.statements.load(t, of, list)
	if err != nil {
		return 0, err
	}
	sets := make(map[postingKey]*idSet, len(loaded))
	for key, ids := range loaded {
		sets[key] = &idSet{}
		sets[key].decode(ids)
	}
	for _, row := range rows {
		if unindexed[row.id] || row.id > p.position && row.id <= p.last {
			continue
		}
		for _, gram := range x.gramsOf(row.text) {
			if set := sets[postingKey{gram, blockOf(row.id)}]; set == nil || !set.has(row.id) {
				missing(row.id)
				break
			}
		}
	}
	if len(rows) < batch {
		last = math.MaxInt64
	}
	return last, nil
}
