// Package storeadmin has the tools that work on a whole store: copy, check, backup and restore. They run beside
// or instead of a service, on connections of their own.
//
// Package sqlstore knows how a store is opened, migrated and locked, and how the row of a resource is read. This
// package knows which tables there are and what must hold between their rows.
package storeadmin

import (
	"context"

	"animalstore/internal/sqlstore"
)

// engine has the differences between the engines. In its statements, %[1]s is a table and %[2]d an id.
type engine struct {
	snapshot  string // begins the transaction of a check
	inventory string // selects the count of each status
	last      string // selects the last id that a table has assigned

	// For a copy.
	read          string   // begins the transaction of a source
	write         []string // begins the transaction of a target, and locks out other copies and services
	collation     string   // orders texts by their bytes
	own           []string // the engine's own tables, which are not copied and are empty in a new store
	events        string   // selects all events, including unpublished ones
	continueAfter []string // makes a table assign only larger ids; a rollback undoes it
	filled        []string // executed after the last row

	// For a check.
	feed   string // selects from all events, including unpublished ones
	newest string // orders the events of a subject, newest first
	later  string // the condition that event d came after event e
	idOf   string // the id in the subject of event e: it starts with %[1]s, and the id is at character %[2]d
	// schema reports differences from the migrations, and whether the rules can be checked nevertheless.
	schema func(context.Context, *checker) (usable bool, err error)
	// integrity reports what the engine's own check finds.
	integrity func(context.Context, *checker) error
}

func engineOf(c *sqlstore.Conn) *engine {
	if c.Engine == sqlstore.Postgres {
		return &postgres
	}
	return &sqlite
}

// number returns the first column of the first row of a query, or 0 without rows.
func number(ctx context.Context, c *sqlstore.Conn, query string) (n int64, err error) {
	_, err = c.First(ctx, query, &n)
	return n, err
}

// execAll executes statements until one fails.
func execAll(ctx context.Context, c *sqlstore.Conn, statements ...string) error {
	for _, statement := range statements {
		if err := c.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// openSnapshot begins to read one snapshot of a store. It fails where there is none, and for a store that a
// newer version has written.
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
