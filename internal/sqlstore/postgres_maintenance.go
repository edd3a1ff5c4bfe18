package sqlstore

import (
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

// maintainPostgres adds the changes recorded in inventory_changes to the inventory and deletes these rows. It also
// deletes the outcomes of commits that are so old that no node will look them up.
func maintainPostgres(t *tx, now time.Time) (more bool, err error) {
	folded, _, err := one(t, scanValue[int64], foldInventory)
	if err != nil {
		return false, err
	}
	more = folded == maintainAtOnce
	for name, rows := range map[string]struct {
		condition string
		retention time.Duration
	}{"done commits": {" AND done", doneRetention}, "undone commits": {" AND NOT done", undoneRetention}} {
		full, err := t.sweep(name, "commits", "at", rows.condition, now.Add(-rows.retention), maintainAtOnce)
		if err != nil {
			return false, err
		}
		more = more || full
	}
	return more, nil
}

// Maintain does one batch of the store's own housekeeping and reports whether there may be more to do.
func (t *tx) Maintain(now time.Time) (more bool, err error) {
	if t.dialect.maintain == nil {
		return false, nil
	}
	return t.dialect.maintain(t, now)
}
