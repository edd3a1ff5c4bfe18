package storeadmin

import (
	"context"
	"errors"
	"fmt"

	"animalstore/internal/sqlstore"
)

// endpoint is the source or the target of a copy, with one transaction.
type endpoint struct {
	*sqlstore.Conn
	engine *engine
	store  *sqlstore.Store
}

func openEndpoint(ctx context.Context, database string, o sqlstore.Options) (*endpoint, error) {
	store, err := sqlstore.Open(ctx, database, o)
	if err != nil {
		return nil, err
	}
	conn, err := store.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &endpoint{conn, engineOf(conn), store}, nil
}

// close rolls back what was not committed, and closes the store.
func (e *endpoint) close() error {
	e.Conn.Close()
	return e.store.Close()
}

// beginRead begins to read a snapshot of a store. It fails for a database that no service has used: its name
// is probably mistyped.
func (e *endpoint) beginRead(ctx context.Context) error {
	if err := e.Exec(ctx, e.engine.read); err != nil {
		return err
	}
	used, err := e.exists(ctx, "SELECT 1 FROM settings WHERE name = 'environment'")
	if err == nil && !used {
		err = sqlstore.ErrNoStore
	}
	return err
}

// beginWrite begins to fill a database, which must be empty.
func (e *endpoint) beginWrite(ctx context.Context) error {
	if err := execAll(ctx, e.Conn, e.engine.write...); err != nil {
		return err
	}
	for _, table := range copiedTables {
		if err := e.expectNone(ctx, table.name, "NOT ("+table.fresh()+")"); err != nil {
			return err
		}
	}
	for _, table := range e.engine.own {
		if err := e.expectNone(ctx, table, "TRUE"); err != nil {
			return err
		}
	}
	return e.Exec(ctx, "DELETE FROM inventory") // the zeros of a new store
}

func (e *endpoint) expectNone(ctx context.Context, table, condition string) error {
	found, err := e.exists(ctx, "SELECT 1 FROM "+table+" WHERE "+condition+" LIMIT 1")
	if err == nil && found {
		err = fmt.Errorf("it is not empty: there are rows in %s", table)
	}
	return err
}

func (e *endpoint) exists(ctx context.Context, query string) (bool, error) {
	var one int
	return e.First(ctx, query, &one)
}

// sameServer selects the identity of a store on a server, which does not depend on the server's address.
const sameServer = "SELECT current_database(), current_schema(), CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000000 AS BIGINT)"

func (e *endpoint) sameAs(ctx context.Context, other *endpoint) (bool, error) {
	if e.Engine != sqlstore.Postgres || other.Engine != sqlstore.Postgres {
		return false, nil // Copy has compared files by name
	}
	type identity struct {
		database, schema string
		started          int64
	}
	var a, b identity
	_, err := e.First(ctx, sameServer, &a.database, &a.schema, &a.started)
	if err == nil {
		_, err = other.First(ctx, sameServer, &b.database, &b.schema, &b.started)
	}
	return a == b, err
}

func (e *endpoint) lastID(ctx context.Context, table *copiedTable) (int64, error) {
	if !table.hasSequence {
		return 0, nil
	}
	return number(ctx, e.Conn, fmt.Sprintf(e.engine.last, table.name))
}

// setLastID makes a table assign only ids after last. It does nothing for a table that assigns none.
func setLastID(ctx context.Context, c *sqlstore.Conn, table *copiedTable, last int64) error {
	if !table.hasSequence {
		return nil
	}
	for _, statement := range engineOf(c).continueAfter {
		if err := c.Exec(ctx, fmt.Sprintf(statement, table.name, last)); err != nil {
			return err
		}
	}
	return nil
}

// commit commits the copy. Its COMMIT does not end with the caller's context.
func (e *endpoint) commit(ctx context.Context) error {
	if err := execAll(ctx, e.Conn, e.engine.filled...); err != nil {
		return fmt.Errorf("nothing was copied: %w", err)
	}
	if err := e.Exec(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return fmt.Errorf("the target has the whole store or nothing, but its response was lost: %w", err)
	}
	return nil
}
