package sqlstore

import (
	"context"
	"errors"
	"fmt"
)

// endpoint is the source or the target of a copy, with one transaction.
type endpoint struct {
	session
	store   *Store
	engine  *copyEngine
	dialect *dialect
}

// copyEngine has the differences of a copy between the engines. In its statements %[1]s is a table, and %[2]d
// an id.
type copyEngine struct {
	read      string   // begins the transaction of a source
	write     []string // begins the transaction of a target, and locks out other copies and services
	collation string   // orders texts by their bytes
	own       []string // the engine's own tables, which are not copied and are empty in a new store
	last      string   // selects the last id that a table has assigned
	goOnAfter []string // makes a table assign only larger ids; a rollback undoes it
	filled    []string // executed after the last row
	// insert inserts the rows that next returns, until next returns nil.
	insert func(ctx context.Context, s session, table *copiedTable, next func() ([]any, error)) error
}

func openEndpoint(ctx context.Context, database string, o Options) (*endpoint, error) {
	store, err := Open(ctx, database, o)
	if err != nil {
		return nil, err
	}
	e := &endpoint{store: store}
	switch engine := store.engine.(type) {
	case *sqliteEngine:
		e.engine, e.dialect, e.session = &copySQLite, engine.dialect, storeConn(engine.file.path, o)
	case *postgresEngine:
		session, err := openPostgresSession(ctx, engine.config)
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
		e.engine, e.dialect, e.session = &copyPostgres, engine.dialect, session
	}
	return e, nil
}

// close rolls back what was not committed, and closes the store.
func (e *endpoint) close() error {
	e.session.close()
	return e.store.Close()
}

// beginRead begins to read a snapshot of a store. It fails for a database that no service has used: its name
// is probably mistyped.
func (e *endpoint) beginRead(ctx context.Context) error {
	if err := e.exec(ctx, e.engine.read, nil); err != nil {
		return err
	}
	used, err := e.exists(ctx, "SELECT 1 FROM settings WHERE name = 'environment'")
	if err == nil && !used {
		err = errNoStore
	}
	return err
}

// beginWrite begins to fill a database, which must be empty.
func (e *endpoint) beginWrite(ctx context.Context) error {
	if err := execAll(ctx, e, e.engine.write...); err != nil {
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
	return e.exec(ctx, "DELETE FROM inventory", nil) // the zeros of a new store
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
	return firstRow(ctx, e, query, &one)
}

// sameServer selects the identity of a store on a server, which does not depend on the server's address.
const sameServer = "SELECT current_database(), current_schema(), CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000000 AS BIGINT)"

func (e *endpoint) sameAs(ctx context.Context, other *endpoint) (bool, error) {
	if e.engine != &copyPostgres || other.engine != &copyPostgres {
		return false, nil // Copy has compared files by name
	}
	type identity struct {
		database, schema string
		started          int64
	}
	var a, b identity
	_, err := firstRow(ctx, e, sameServer, &a.database, &a.schema, &a.started)
	if err == nil {
		_, err = firstRow(ctx, other, sameServer, &b.database, &b.schema, &b.started)
	}
	return a == b, err
}

func (e *endpoint) number(ctx context.Context, query string) (n int64, err error) {
	_, err = firstRow(ctx, e, query, &n)
	return n, err
}

func (e *endpoint) lastID(ctx context.Context, table *copiedTable) (int64, error) {
	if !table.hasSequence {
		return 0, nil
	}
	return e.number(ctx, fmt.Sprintf(e.engine.last, table.name))
}

func (e *endpoint) setLastID(ctx context.Context, table *copiedTable, last int64) error {
	if !table.hasSequence {
		return nil
	}
	for _, statement := range e.engine.goOnAfter {
		if err := e.exec(ctx, fmt.Sprintf(statement, table.name, last), nil); err != nil {
			return err
		}
	}
	return nil
}

// commit commits the copy. Its COMMIT does not end with the caller's context.
func (e *endpoint) commit(ctx context.Context) error {
	if err := execAll(ctx, e, e.engine.filled...); err != nil {
		return fmt.Errorf("nothing was copied: %w", err)
	}
	if err := e.exec(context.WithoutCancel(ctx), "COMMIT", nil); err != nil {
		return fmt.Errorf("the target has the whole store or nothing, but its response was lost: %w", err)
	}
	return nil
}
