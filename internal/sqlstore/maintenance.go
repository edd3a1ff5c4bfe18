package sqlstore

import (
	"math"
	"strconv"
	"time"
)

// maintainAtOnce is the maximum number of rows that one call of maintainPostgres removes from each table.
const maintainAtOnce = 10_000

var foldInventory = `
	WITH waiting AS MATERIALIZED (
		SELECT id FROM ` + waitingRows("inventory_changes") + ` LIMIT ` + strconv.Itoa(maintainAtOnce) + `
	), folded AS (
		DELETE FROM inventory_changes WHERE id = ANY (ARRAY(SELECT id FROM waiting)) RETURNING status, n
	), sums AS (
		SELECT status, CAST(sum(n) AS BIGINT) AS n FROM folded GROUP BY status
	), added AS (
		UPDATE inventory SET n = inventory.n + sums.n FROM sums WHERE inventory.status = sums.status
	), ` + moveMark("inventory_changes", "(SELECT count(*) FROM waiting) BETWEEN 1 AND "+strconv.Itoa(maintainAtOnce-1)) + `
	SELECT count(*) FROM waiting`

// How long the outcomes of commits are kept. An outcome is looked up within seconds. That a write will never be
// done is remembered longer, because its COMMIT may still be on its way in a network that was interrupted.
const (
	doneRetention   = 10 * time.Minute
	undoneRetention = time.Hour
)

// maintainPostgres adds the changes recorded in inventory_changes to the inventory and deletes these records. It
// also deletes records of commits that are too old to be looked up.
func maintainPostgres(t *tx, cutoff func(age time.Duration) time.Time) (more bool, err error) {
	folded, _, err := one(t, scanValue[int64], foldInventory)
	if err != nil {
		return false, err
	}
	more = folded == maintainAtOnce
	for name, rows := range map[string]struct {
		condition string
		retention time.Duration
	}{"done commits": {" AND done", doneRetention}, "undone commits": {" AND NOT done", undoneRetention}} {
		full, err := t.sweep(name, "commits", "at", rows.condition, cutoff(rows.retention), maintainAtOnce)
		if err != nil {
			return false, err
		}
		more = more || full
	}
	return more, nil
}

// sweep deletes the oldest rows of a table up to the given time, about as many as limit, and reports
// whether there may be more. It first reads the time of the last row that it will delete. With this time as the
// limit of the DELETE, the planner uses the index on the column. name is that of the sweep in the dialect.
func (t *tx) sweep(name, table, column, condition string, before time.Time, limit int) (more bool, err error) {
	s := t.dialect.sweeps[name]
	begin := s.begin()
	times, err := all(t, scanValue[int64], "SELECT "+column+" FROM "+table+" WHERE "+column+" >= $1 AND "+column+" <= $2"+condition+
		" ORDER BY "+column+" LIMIT $3", begin, micros(before), limit)
	if err != nil {
		return false, err
	}
	if len(times) == 0 {
		s.found(math.MaxInt64, micros(before))
		return false, nil
	}
	last := micros(before)
	if more = len(times) == limit; more {
		last = times[limit-1]
	}
	s.found(times[0], last)
	return more, t.exec("DELETE FROM "+table+" WHERE "+column+" >= $1 AND "+column+" <= $2"+condition, begin, last)
}

// Maintain does one batch of the store's own housekeeping and reports whether there may be more to do.
func (t *tx) Maintain(cutoff func(age time.Duration) time.Time) (more bool, err error) {
	if t.dialect.maintain == nil {
		return false, nil
	}
	return t.dialect.maintain(t, cutoff)
}
