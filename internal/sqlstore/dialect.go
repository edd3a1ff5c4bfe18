package sqlstore

import (
	"context"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/postgres"
	"animalstore/internal/sqlstore/wordindex"
)

// dialect contains the differences between the engines' SQL, except for transactions and migrations.
type dialect struct {
	// words is the search index.
	words *wordindex.Index
	// skipLocked is the end of a query that locks the rows it returns. The query skips rows that other transactions
	// have locked. Rows that refer to the locked rows can still be inserted, such as pets of a category.
	skipLocked string
	// inSubquery is the condition that the first %s, an expression, is among the results of the second %s, a
	// subquery. PostgreSQL needs a form without IN, because it executes a correlated IN once for each combination of
	// rows.
	inSubquery string
	// endWhenIdle is a statement that makes the server end the transaction if this process freezes, so that other
	// nodes can get its locks. It is empty if no other process needs the locks.
	endWhenIdle string
	// lockPet is the statement that locks a pet before its order is changed. It is empty if no lock is needed. Write
	// groups on PostgreSQL also lock pets before orders, so a write and a group cannot deadlock.
	lockPet string
	// lockCategoryID is the statement that locks the last id that was assigned to a category. It is empty if no lock is
	// needed. Before the first assignment, there is nothing to lock.
	lockCategoryID string
	// byRow makes the queries for pages use row comparisons such as (status, id) < ($1, $2). Without them, PostgreSQL
	// may scan the primary key and skip all rows that do not match, because it assumes that matching rows are spread
	// evenly. They are not: the newest pets, for example, are hardly ever sold.
	byRow bool
	// byCategory follows the name of the pets table in queries for the pets with a category and a status. Without it,
	// SQLite may read the pets with this status in all categories.
	byCategory string
	// byProfile follows the name of the profiles table in queries for the profiles with a value in a column, such as a
	// sex. Without it, SQLite may read all profiles.
	byProfile func(column string) string
	// byIndex follows the name of the pets table in queries that SQLite must not answer with another index.
	byIndex func(index string) string
	// keysNewNames is true if the key of a new pet's name is written with the pet. On SQLite, this would slow down new
	// pets, because the key is at another place of its index for each of them.
	keysNewNames bool
	// whetherPublished adds the condition that pets are published, or are not. It returns what follows the name of the
	// pets table.
	whetherPublished func(c *conditions, published bool) string
	// sharesVersion is true if other nodes change the database, so that every change to it changes all versions.
	sharesVersion bool
	// byHold follows the name of the orders table in queries for holds. Without it, SQLite reads all placed orders and
	// sorts them.
	byHold string
	// byPickup follows the name of the orders table in queries for the dates of pick-up. Without it, SQLite might read
	// all open orders.
	byPickup string
	// byClosing follows the name of the orders table in queries for closed orders with a customer. Without it, SQLite might
	// read all closed orders.
	byClosing string
	// byUnkeyed follows the name of the categories table in queries for unkeyed names. It makes SQLite use the index of
	// these names. Without it, SQLite might read all names.
	byUnkeyed string
	// clock returns the current time. Holds expire by this clock. It is nil if the server's clock is used.
	clock func() time.Time
	// deferredKeys is true if foreign keys are checked only when the transaction is committed.
	deferredKeys bool
	// load loads the rows that writes have declared into a unit.
	load func(*unit, *engine.Batch, []*declaredWrite)
	// update updates n rows. appendRow appends the values of one row to args, beginning with its id.
	update func(w engine.Writer, u rowUpdate, n int, appendRow func(args []any, row int) []any) error
	// newPetIDs returns n unused ids in ascending order.
	newPetIDs func(t *tx, n int) ([]int64, error)
	// eventInsertion inserts new events, into the feed or into its inbox.
	eventInsertion *engine.Insertion
	// addCounts adds changes to the counts.
	addCounts func(w engine.Writer, changes countChanges) error
	// counts are the tables with the numbers of pets.
	counts CountTables
	// largestCategories is the query for the counts of the $1 categories that have the most pets.
	largestCategories string
	// foldCounts is the statement of FoldCounts. It is empty if every write updates the counts itself.
	foldCounts string
	// inbox is the table into which new events are inserted.
	inbox string
	// removeEvents is the maximum number of events that RemoveEvents removes at once. It is low for SQLite, because all
	// other writes have to wait for the call. It is higher for PostgreSQL, because every call leaves a dead version of
	// the row with the event horizon.
	removeEvents int
	// readOutside runs a function in a read transaction of its own, on another connection. It is used in writes if the
	// nodes share the search index (words.Shared), because a SERIALIZABLE transaction conflicts with every other one that
	// changes what it has read.
	readOutside func(ctx context.Context, fn func(*engine.Tx) error) error
	// maintain does one batch of the periodic housekeeping and reports whether there may be more to do. It is nil
	// if the engine needs no housekeeping.
	maintain func(t *tx, now time.Time) (more bool, err error)
	// queue returns a table expression for the rows in a queue, which is a table whose rows are deleted soon after
	// they are inserted.
	queue func(table string) string
	// sweeps remember the time up to which old rows of a table have been deleted, so that the next sweep can start
	// there. SQLite needs no sweeps, because it does not keep deleted rows.
	sweeps map[string]*sweep
}

// sqliteDialect uses the clock of this process, because no other process writes orders to the
// file.
func sqliteDialect(clock func() time.Time) *dialect {
	if clock == nil {
		clock = time.Now
	}
	return &dialect{
		words:             wordindex.OnSQLite(searchables, shop.FoldSearch),
		inSubquery:        "%s IN (%s)",
		clock:             inMicros(clock),
		deferredKeys:      true,
		load:              loadEach,
		update:            updateEach,
		newPetIDs:         countedPetIDs,
		eventInsertion:    &engine.Insertion{Table: "events", Columns: newEventColumns, Types: eventTypes},
		addCounts:         updateCounts,
		counts:            SQLiteCounts,
		largestCategories: sqliteLargestCategories,
		inbox:             "events",
		queue:             func(table string) string { return table },
		removeEvents:      250,
		byCategory:        " INDEXED BY pets_category_status",
		byProfile:         func(column string) string { return " INDEXED BY profiles_" + column },
		byIndex:           func(index string) string { return " INDEXED BY " + index },
		whetherPublished:  publishedByIndex,
		byHold:            " INDEXED BY orders_hold",
		byPickup:          " INDEXED BY orders_pickup_open",
		byClosing:         " INDEXED BY orders_customer_closed",
		byUnkeyed:         " INDEXED BY categories_unkeyed",
	}
}

// postgresDialect uses the clock of the server, which all nodes share, unless clock is set.
func postgresDialect(clock func() time.Time) *dialect {
	d := &dialect{
		words: wordindex.OnPostgres(searchables, shop.FoldSearch, wordindex.Watermarks{
			Waiting: postgres.WaitingRows, From: postgres.FromWatermark, Move: postgres.MoveWatermark,
		}),
		skipLocked:        " FOR NO KEY UPDATE SKIP LOCKED",
		inSubquery:        "%s = ANY (ARRAY(%s))",
		endWhenIdle:       "SELECT set_config('idle_in_transaction_session_timeout', '5s', TRUE)",
		lockPet:           "SELECT id FROM pets WHERE id = $1 FOR UPDATE",
		lockCategoryID:    "SELECT name FROM settings WHERE name = 'last_category_id' FOR UPDATE",
		byRow:             true,
		byProfile:         func(string) string { return "" },
		byIndex:           func(string) string { return "" },
		keysNewNames:      true,
		whetherPublished:  publishedByValue,
		sharesVersion:     true,
		load:              loadTogether,
		update:            updateTogether,
		newPetIDs:         reservedPetIDs,
		eventInsertion:    &engine.Insertion{Table: "event_inbox", Columns: newEventColumns, Types: eventTypes},
		addCounts:         insertCounts,
		counts:            PostgresCounts,
		largestCategories: postgresLargestCategories,
		foldCounts:        postgresFoldCounts,
		inbox:             "event_inbox",
		queue:             postgres.WaitingRows,
		sweeps:            map[string]*sweep{"done commits": {}, "undone commits": {}, "responses": {}},
		removeEvents:      10_000,
		maintain:          maintainPostgres,
	}
	if clock != nil {
		d.clock = inMicros(clock)
	}
	return d
}
