package sqlstore

import (
	"fmt"
	"time"

	"animalstore/internal/shop"
)

// dialect is what differs between the engines, beside how they run transactions and what their migrations say.
type dialect struct {
	// contains is the condition that a column contains a text.
	contains string
	// byRow seeks a page as a range of whole rows, where the planner else takes the index of the ids and walks past all
	// that do not match. It thinks that they are spread evenly; but the animals that came last are not sold yet.
	byRow bool
	// now is the time by which holds run out.
	now func(*tx) (time.Time, error)
	// count notes that there are so many more animals of a status.
	count string
	// inventory sums up what was noted.
	inventory string
	// inbox is the table that events are written to.
	inbox string
	// events are all that were written, also those that nobody has published yet.
	events string
	// time is what stands for now in a statement, without asking for it first; empty: it must be asked for.
	time string
	// tidy does some of what has to be done from time to time, and tells whether there may be more; nil: nothing.
	tidy func(t *tx, before time.Time) (more bool, err error)
	// meaning says what a failure of the driver means for the caller: whether the database is away, or we are wrong.
	meaning func(error) error
}

func (t *tx) Now() (time.Time, error) { return t.dialect.now(t) }

// clockOf is the time of a clock in this process.
func clockOf(clock func() time.Time) func(*tx) (time.Time, error) {
	return func(*tx) (time.Time, error) { return clock().UTC().Truncate(time.Microsecond), nil }
}

// sqliteDialect counts in one row for each status: there is one writer, and nobody waits for it twice. The clock is that of
// this process: no other one writes orders into the file.
func sqliteDialect(clock func() time.Time) *dialect {
	if clock == nil {
		clock = time.Now
	}
	return &dialect{
		contains:  "instr(name_folded, %s) > 0",
		now:       clockOf(clock),
		count:     "UPDATE inventory SET n = n + $1 WHERE status = $2",
		inventory: "SELECT status, n FROM inventory",
		inbox:     "events",
		events:    "SELECT " + eventColumns + " FROM events",
		meaning:   sqliteError,
	}
}

// postgresDialect counts by adding rows, which are folded later: many writers that change one row would make each other
// fail. The clock is the server's, the one that all nodes share.
func postgresDialect(clock func() time.Time) *dialect {
	d := &dialect{
		contains:  "strpos(name_folded, %s) > 0",
		byRow:     true,
		now:       serverTime,
		count:     "INSERT INTO inventory_changes (n, status) VALUES ($1, $2)",
		inventory: "SELECT status, CAST(sum(n) AS BIGINT) FROM (SELECT status, n FROM inventory UNION ALL SELECT status, n FROM inventory_changes) AS notes GROUP BY status",
		inbox:     "event_inbox",
		events:    "SELECT " + eventColumns + " FROM events UNION ALL SELECT (" + fmt.Sprintf(copyPostgres.last, "events") + ") + row_number() OVER (ORDER BY id), at, type, subject, actor, data FROM event_inbox",
		time:      serverMicros,
		tidy:      tidyPostgres,
		meaning:   postgresError,
	}
	if clock != nil {
		d.now, d.time = clockOf(clock), ""
	}
	return d
}

// serverMicros is the server's time, as times are stored. Nodes may have clocks that are hours apart.
const serverMicros = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"

func serverTime(t *tx) (time.Time, error) {
	at, _, err := one(t, scanValue[int64], "SELECT "+serverMicros)
	return fromMicros(at), err
}

// tidyAtOnce is how many rows are tidied away at a time.
const tidyAtOnce = 10_000

// tidyPostgres folds what was counted, and forgets the commits whose fate nobody asks for any more.
func tidyPostgres(t *tx, before time.Time) (more bool, err error) {
	folded, _, err := one(t, scanValue[int64], `
		WITH folded AS (
			DELETE FROM inventory_changes WHERE id = ANY (ARRAY(SELECT id FROM inventory_changes ORDER BY id LIMIT $1))
			RETURNING status, n
		), sums AS (
			SELECT status, CAST(sum(n) AS BIGINT) AS n FROM folded GROUP BY status
		), added AS (
			UPDATE inventory SET n = inventory.n + sums.n FROM sums WHERE inventory.status = sums.status
		) SELECT count(*) FROM folded`, tidyAtOnce)
	if err != nil {
		return false, err
	}
	forgotten, _, err := one(t, scanValue[int64], `
		WITH forgotten AS (
			DELETE FROM commits WHERE id = ANY (ARRAY(SELECT id FROM commits WHERE at < $1 ORDER BY at LIMIT $2)) RETURNING 1
		) SELECT count(*) FROM forgotten`, micros(before), tidyAtOnce)
	return max(folded, forgotten) == tidyAtOnce, err
}

// Maintain does some of the store's own housekeeping.
func (t *tx) Maintain(before time.Time) (more bool, err error) {
	if t.dialect.tidy == nil {
		return false, nil
	}
	return t.dialect.tidy(t, before)
}

// count keeps the inventory in step with the animals.
func (t *tx) count(status shop.Status, change int) error {
	t.changed = true
	if t.group != nil {
		t.added.count(status, change)
		return t.failed
	}
	return t.exec(t.dialect.count, change, status)
}
