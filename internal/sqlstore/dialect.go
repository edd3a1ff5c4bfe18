package sqlstore

import (
	"time"
)

// dialect has the differences between the engines in SQL, apart from transactions and migrations.
type dialect struct {
	// contains is the condition that the folded name contains the text %s.
	contains string
	// byRow seeks a page with a row comparison. Otherwise PostgreSQL may scan the primary key and skip rows
	// that do not match, since it assumes that they are spread evenly; but the newest pets are hardly ever
	// sold.
	byRow bool
	// now returns the time by which holds expire.
	now func(*tx) (time.Time, error)
	// addInventory adds $1 pets to the count of the status $2.
	addInventory string
	// inventory selects the count of each status.
	inventory string
	// inbox is the table that new events are inserted into.
	inbox string
	// statusIn is the status in the member %s of an event's JSON data, or NULL.
	statusIn string
	// time is an SQL expression for the current time; empty: use now.
	time string
	// tidy does a part of the periodic housekeeping, and reports whether there may be more; nil: there is
	// none.
	tidy func(t *tx, before time.Time) (more bool, err error)
	// convertError converts an error of the driver for the caller: unavailable or internal.
	convertError func(error) error
}

// The queries that count the pets of each status.
const (
	SQLiteInventory   = "SELECT status, n FROM inventory"
	PostgresInventory = "SELECT status, CAST(sum(n) AS BIGINT) FROM (SELECT status, n FROM inventory" +
		" UNION ALL SELECT status, n FROM inventory_changes) AS notes GROUP BY status"
)

func (t *tx) Now() (time.Time, error) { return t.dialect.now(t) }

// clockOf returns a dialect.now that reads a clock of this process.
func clockOf(clock func() time.Time) func(*tx) (time.Time, error) {
	return func(*tx) (time.Time, error) { return clock().UTC().Truncate(time.Microsecond), nil }
}

// sqliteDialect keeps the inventory in one row for each status: with a single writer, updates of a row never
// conflict. The clock is that of this process: no other process writes orders to the file.
func sqliteDialect(clock func() time.Time) *dialect {
	if clock == nil {
		clock = time.Now
	}
	return &dialect{
		contains:     "instr(name_folded, %s) > 0",
		now:          clockOf(clock),
		addInventory: "UPDATE inventory SET n = n + $1 WHERE status = $2",
		inventory:    SQLiteInventory,
		inbox:        "events",
		statusIn:     "data ->> '$.%s.status'",
		convertError: sqliteError,
	}
}

// postgresDialect keeps the inventory as rows of changes, which are folded later: concurrent updates of one
// row would conflict. The clock is the server's, which all nodes share.
func postgresDialect(clock func() time.Time) *dialect {
	d := &dialect{
		contains:     "strpos(name_folded, %s) > 0",
		byRow:        true,
		now:          serverTime,
		addInventory: "INSERT INTO inventory_changes (n, status) VALUES ($1, $2)",
		inventory:    PostgresInventory,
		inbox:        "event_inbox",
		statusIn:     "CAST(data AS json) #>> '{%s,status}'",
		time:         serverMicros,
		tidy:         tidyPostgres,
		convertError: postgresError,
	}
	if clock != nil {
		d.now, d.time = clockOf(clock), ""
	}
	return d
}

// serverMicros is the server's time in microseconds. The clocks of nodes may be hours apart.
const serverMicros = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"

func serverTime(t *tx) (time.Time, error) {
	at, _, err := one(t, scanValue[int64], "SELECT "+serverMicros)
	return fromMicros(at), err
}

// tidyAtOnce bounds the rows that one call of tidyPostgres removes from a table.
const tidyAtOnce = 10_000

// tidyPostgres folds inventory changes into the inventory, and deletes the records of commits that are too
// old to be looked up.
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

// Maintain does a part of the store's own housekeeping.
func (t *tx) Maintain(before time.Time) (more bool, err error) {
	if t.dialect.tidy == nil {
		return false, nil
	}
	return t.dialect.tidy(t, before)
}
