package sqlstore

import (
	"time"

	"animalstore/internal/sqlstore/postgres"
)

// maintainAtOnce is the maximum number of rows that one call of maintainPostgres removes from each table.
const maintainAtOnce = 10_000

// maintainPostgres deletes the outcomes of commits that are so old that no node will look them up.
func maintainPostgres(t *tx, now time.Time) (more bool, err error) {
	for name, rows := range map[string]struct {
		condition string
		retention time.Duration
	}{"done commits": {" AND done", postgres.DoneRetention}, "undone commits": {" AND NOT done", postgres.UndoneRetention}} {
		full, err := t.sweep(name, "write_outcomes", "at", rows.condition, now.Add(-rows.retention), maintainAtOnce)
		if err != nil {
			return false, err
		}
		more = more || full
	}
	return more, nil
}

// Maintain does one batch of the store's own housekeeping and reports whether there may be more to do.
func (t *tx) Maintain(now time.Time) (more bool, err error) {
	if err := t.removePeriods(); err != nil || t.dialect.maintain == nil {
		return false, err
	}
	return t.dialect.maintain(t, now)
}
