package storeadmin

import (
	"context"
	"errors"
	"fmt"

	"animalstore/internal/sqlstore"
)

// endpoint is the source or the target of a copy. Its connection runs a single transaction.
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

// close rolls back all uncommitted changes and closes the store.
func (e *endpoint) close() error {
	e.Conn.Close()
	return e.store.Close()
}

// beginRead begins a transaction that reads one snapshot of a store. It fails if no service has ever used the database,
// because the operator has probably mistyped its name.
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

// beginWrite begins the transaction that fills a database. It fails if the database is not empty.
func (e *endpoint) beginWrite(ctx context.Context) error {
	if err := execAll(ctx, e.Conn, e.engine.write...); err != nil {
		return err
	}
	for _, table := range copiedTables {
		if err := e.expectNone(ctx, table.name); err != nil {
			return err
		}
	}
	for _, table := range e.engine.own {
		if err := e.expectNone(ctx, table); err != nil {
			return err
		}
	}
	// The search index, the summaries of events and the counts of pets are rebuilt from the copied rows.
	for _, table := range sqlstore.DerivedTables {
		if err := e.Exec(ctx, "DELETE FROM "+table); err != nil {
			return err
		}
	}
	return e.Exec(ctx, "UPDATE "+sqlstore.SearchProgressTable+" SET position = 0")
}

func (e *endpoint) expectNone(ctx context.Context, table string) error {
	found, err := e.exists(ctx, "SELECT 1 FROM "+table+" LIMIT 1")
	if err == nil && found {
		err = fmt.Errorf("it is not empty: there are rows in %s", table)
	}
	return err
}

func (e *endpoint) exists(ctx context.Context, query string) (bool, error) {
	var one int
	return e.First(ctx, query, &one)
}

// sameServer selects values that identify a store on a PostgreSQL server, whatever address is used for the server.
const sameServer = "SELECT current_database(), current_schema(), CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000000 AS BIGINT)"

func (e *endpoint) sameAs(ctx context.Context, other *endpoint) (bool, error) {
	if e.Engine != sqlstore.Postgres || other.Engine != sqlstore.Postgres {
		return false, nil // Copy has already made sure that the two files differ
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

// setLastID makes a table assign only ids greater than last. It does nothing if the table assigns no ids.
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

// commit commits the copy. Cancelling ctx does not interrupt the COMMIT statement.
func (e *endpoint) commit(ctx context.Context) error {
	if err := execAll(ctx, e.Conn, e.engine.filled...); err != nil {
		return fmt.Errorf("nothing was copied: %w", err)
	}
	if err := e.Exec(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return fmt.Errorf("the target has the whole store or nothing, but its response was lost: %w", err)
	}
	return nil
}
