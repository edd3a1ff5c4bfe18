package sqlstore

import "time"

// maintainAtOnce is the maximum number of rows that one call of maintainPostgres removes from each table.
const maintainAtOnce = 10_000

// maintainPostgres adds the changes recorded in inventory_changes to the inventory and deletes these records. It
// also deletes records of commits that are too old to be looked up.
func maintainPostgres(t *tx, before time.Time) (more bool, err error) {
	folded, _, err := one(t, scanValue[int64], `
		WITH folded AS (
			DELETE FROM inventory_changes WHERE id = ANY (ARRAY(SELECT id FROM inventory_changes ORDER BY id LIMIT $1))
			RETURNING status, n
		), sums AS (
			SELECT status, CAST(sum(n) AS BIGINT) AS n FROM folded GROUP BY status
		), added AS (
			UPDATE inventory SET n = inventory.n + sums.n FROM sums WHERE inventory.status = sums.status
		) SELECT count(*) FROM folded`, maintainAtOnce)
	if err != nil {
		return false, err
	}
	forgotten, _, err := one(t, scanValue[int64], `
		WITH forgotten AS (
			DELETE FROM commits WHERE id = ANY (ARRAY(SELECT id FROM commits WHERE at < $1 ORDER BY at LIMIT $2)) RETURNING 1
		) SELECT count(*) FROM forgotten`, micros(before), maintainAtOnce)
	return max(folded, forgotten) == maintainAtOnce, err
}

// Maintain does one batch of the store's own housekeeping and reports whether there may be more to do.
func (t *tx) Maintain(before time.Time) (more bool, err error) {
	if t.dialect.maintain == nil {
		return false, nil
	}
	return t.dialect.maintain(t, before)
}
