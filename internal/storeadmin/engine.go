// Package storeadmin provides the operations on a whole store: copy, check, backup and restore. They run
// alongside a service or instead of it and use their own connections.
//
// Package sqlstore knows how to open, migrate and lock a store and how to read the row for a resource. This
// package knows which tables a store has and which rules their rows must follow.
package storeadmin

import (
	"context"

	"animalstore/internal/sqlstore"
)

// engine holds everything that differs between the database engines. In its statements, %[1]s is replaced
// with a table and %[2]d with an id.
type engine struct {
	snapshot string               // begins the transaction for a check
	counts   sqlstore.CountTables // the numbers of pets, and of arrivals and sales
	last     string               // selects the last id that a table has assigned

	// The following fields are used for a copy.
	read          string   // begins the transaction on the source
	write         []string // begins the transaction on the target and locks out other copies and services
	collation     string   // makes ORDER BY compare texts byte by byte
	own           []string // tables that only this engine has; they are not copied and must be empty
	events        string   // selects all events, including unpublished ones
	continueAfter []string // makes a table assign only ids greater than %[2]d; a rollback undoes this
	filled        []string // statements to execute after the last row has been inserted

	// The following fields are used for a check.
	with   string // begins a query that contains feed
	feed   string // a table expression that yields all events, including unpublished ones
	newest string // an ORDER BY list that puts the newest event first
	later  string // a condition that is true if event d is newer than event e
	// idOf is the expression for the id in the subject of event e. In this expression, %[1]s is the prefix of the
	// subject, and %[2]d is the position of the first character after the prefix.
	idOf  string
	rules []rowRule // rules that hold for this engine only
	// schema reports differences from the migrations. usable is true if the rules can be checked in spite of them.
	schema func(context.Context, *checker) (usable bool, err error)
	// integrity reports the problems found by the engine's own integrity check.
	integrity func(context.Context, *checker) error
}

func engineOf(c *sqlstore.Conn) *engine {
	if c.Engine == sqlstore.Postgres {
		return &serverEngine
	}
	return &fileEngine
}

// number returns the first column in the first row that a query selects, or 0 if the query selects no rows.
func number(ctx context.Context, c *sqlstore.Conn, query string) (n int64, err error) {
	_, err = c.First(ctx, query, &n)
	return n, err
}

// execAll executes statements in order and stops at the first error.
func execAll(ctx context.Context, c *sqlstore.Conn, statements ...string) error {
	for _, statement := range statements {
		if err := c.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// openSnapshot opens a store and begins to read one snapshot. It fails if the database contains no store or
// if the store was written by a newer version of animalstore.
func openSnapshot(ctx context.Context, database string) (*sqlstore.Conn, error) {
	c, err := sqlstore.OpenReadOnly(ctx, database)
	if err != nil {
		return nil, err
	}
	if err := c.Exec(ctx, engineOf(c).snapshot); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
