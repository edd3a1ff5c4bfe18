package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/postgres"
	"animalstore/internal/sqlstore/sqlite"
)

// The names of the engines. The migrations for each engine are in the directory with the engine's name.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Rows iterates over the rows that a query returns.
type Rows = engine.Rows

// Conn is a connection to a store's database, separate from the connections that the store itself uses. Tools
// that work on a whole store use it. They control transactions by executing statements such as BEGIN and
// COMMIT.
type Conn struct {
	Engine  string // SQLite or Postgres
	Version int    // the number of migrations that have been applied; set only by OpenReadOnly and OpenImmutable
	conn    engine.Conn
	file    *sqlite.Conn   // the connection if it is to a SQLite file, or nil
	server  *postgres.Conn // the connection if it is to a PostgreSQL server, or nil
}

func connToFile(c *sqlite.Conn) *Conn { return &Conn{Engine: SQLite, conn: c, file: c} }

func connToServer(c *postgres.Conn) *Conn { return &Conn{Engine: Postgres, conn: c, server: c} }

// Conn opens a new connection to the store's database. The caller must close it.
func (s *Store) Conn(ctx context.Context) (*Conn, error) {
	if s.file != nil {
		return connToFile(s.file.Connect()), nil
	}
	c, err := s.server.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return connToServer(c), nil
}

// OpenFile returns a connection to a SQLite file that no service is using. It does not switch the file to WAL
// mode. The first statement opens the file and creates it if it does not exist.
func OpenFile(path string) *Conn { return connToFile(sqlite.OpenFile(path)) }

// OpenEmpty returns a connection to a new in-memory SQLite database with the schema of the given version.
func OpenEmpty(ctx context.Context, version int) (*Conn, error) {
	steps, err := Migrations(SQLite)
	if err != nil {
		return nil, err
	}
	c, err := sqlite.OpenMemory(ctx, steps[:version])
	if err != nil {
		return nil, err
	}
	return connToFile(c), nil
}

// OpenReadOnly opens a store without creating, migrating or writing anything. A service may use the store at
// the same time. OpenReadOnly fails if there is no store, or if a newer version of animalstore has written
// the store.
func OpenReadOnly(ctx context.Context, database string) (*Conn, error) {
	if IsURL(database) {
		c, version, err := postgres.ConnectURL(ctx, database)
		if err != nil {
			return nil, err
		}
		return connToServer(c).requireStore(version)
	}
	return openFileAs(ctx, database, sqlite.OpenReadOnly)
}

// OpenImmutable is like OpenReadOnly for a SQLite file, but does not even create the -wal and -shm files. It must not
// be used while a service is using the store, because it sees neither the WAL nor any locks.
func OpenImmutable(ctx context.Context, path string) (*Conn, error) {
	return openFileAs(ctx, path, sqlite.OpenImmutable)
}

func openFileAs(ctx context.Context, path string, open func(context.Context, string, sqlite.Schema) (*sqlite.Conn, int, error)) (*Conn, error) {
	schema, err := sqliteSchema()
	if err != nil {
		return nil, err
	}
	c, version, err := open(ctx, path, schema)
	if err != nil {
		return nil, err
	}
	return connToFile(c).requireStore(version)
}

// requireStore sets the version. It closes the connection and returns an error if the database contains no store, or if
// a newer version of animalstore has migrated the store.
func (c *Conn) requireStore(version int) (*Conn, error) {
	c.Version = version
	steps, err := Migrations(c.Engine)
	switch {
	case err != nil:
	case version == 0:
		err = ErrNoStore
	case version > len(steps):
		err = engine.NewerSchemaError(version, len(steps))
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close closes the connection. An open transaction is rolled back.
func (c *Conn) Close() {
	if c.file != nil {
		c.file.Close()
	} else {
		c.server.Close()
	}
}

// tx returns a transaction that executes statements on the connection. Its errors are those of the driver.
func (c *Conn) tx(ctx context.Context) *tx {
	dialect := sqliteDialect(nil)
	if c.Engine == Postgres {
		dialect = postgresDialect(nil)
	}
	return &tx{Tx: &engine.Tx{Ctx: ctx, Conn: c.conn}, dialect: dialect}
}

// Exec executes one statement. The args are the values for its placeholders $1, $2 and so on.
func (c *Conn) Exec(ctx context.Context, statement string, args ...any) error {
	return c.conn.Exec(ctx, statement, args)
}

// Query starts a query and returns its rows. The caller must close the rows.
func (c *Conn) Query(ctx context.Context, query string) (Rows, error) {
	return c.conn.Query(ctx, query, nil)
}

// Each calls fn for every row that the query returns. It stops at the first error returned by fn.
func (c *Conn) Each(ctx context.Context, query string, fn func(Scanner) error) error {
	return engine.EachRow(ctx, c.conn, query, nil, fn)
}

// First reads the first row in the result of a query into columns. found is false if there is no row.
func (c *Conn) First(ctx context.Context, query string, columns ...any) (found bool, err error) {
	return engine.FirstRow(ctx, c.conn, query, columns...)
}

// Insert inserts rows into a table. It calls next for each row until next returns nil or an error.
func (c *Conn) Insert(ctx context.Context, table string, columns []string, next func() ([]any, error)) error {
	if c.server != nil {
		return c.server.Copy(ctx, table, columns, next)
	}
	insertion := fmt.Sprintf("INSERT INTO %s (%s) VALUES %s", table, strings.Join(columns, ", "), numbered(placeholders(len(columns))))
	// The statements do not have to watch ctx, because next returns an error when ctx ends.
	lasting := context.WithoutCancel(ctx)
	for {
		row, err := next()
		if err != nil || row == nil {
			return err
		}
		if err := c.conn.Exec(lasting, insertion, row); err != nil {
			return err
		}
	}
}

// Migrate brings the schema up to date. It works only on a connection to a SQLite file.
func (c *Conn) Migrate(ctx context.Context) error {
	schema, err := sqliteSchema()
	if err != nil {
		return err
	}
	return c.file.Migrate(ctx, schema)
}

// VacuumInto writes a copy of the SQLite database to the file at path.
func (c *Conn) VacuumInto(ctx context.Context, path string) error {
	return c.file.VacuumInto(ctx, path)
}
