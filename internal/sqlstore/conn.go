package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// The names of the engines. The migrations for each engine are in the directory with the engine's name.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Conn is a connection to a store's database, separate from the connections that the store itself uses. Tools
// that work on a whole store use it. They control transactions by executing statements such as BEGIN and
// COMMIT.
type Conn struct {
	Engine  string // SQLite or Postgres
	Version int    // the number of migrations that have been applied; set only by OpenReadOnly
	// LostTimeline is an error if a node has noticed that the server lost a part of its history. Only OpenReadOnly
	// sets it.
	LostTimeline error
	runner       runner
	close        func()
	uri          string // the URI of the SQLite file; empty for a PostgreSQL server
}

func connToFile(c *sqliteConn) *Conn {
	return &Conn{Engine: SQLite, runner: c, close: c.close, uri: c.uri}
}

func connToServer(ctx context.Context, config *pgx.ConnConfig) (*Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, openError(err)
	}
	return &Conn{Engine: Postgres, runner: pgxRunner{conn}, close: func() { conn.Close(context.Background()) }}, nil
}

// Conn opens a new connection to the store's database. The caller must close it.
func (s *Store) Conn(ctx context.Context) (*Conn, error) {
	if p, ok := s.engine.(*postgresEngine); ok {
		return connToServer(ctx, p.config)
	}
	file := s.engine.(*sqliteEngine)
	return connToFile(storeConn(file.file.path, Options{Exclusive: file.unlock != nil})), nil
}

// OpenFile returns a connection to a SQLite file that no service is using. It does not switch the file to WAL
// mode. The first statement opens the file and creates it if it does not exist.
func OpenFile(path string) *Conn {
	return connToFile(newSQLiteConn(fileURI(path), 5*time.Second, pragma{"synchronous", "2"}))
}

// OpenEmpty returns a connection to a new in-memory SQLite database with the schema of the given version.
func OpenEmpty(ctx context.Context, version int) (*Conn, error) {
	steps, err := Migrations(SQLite)
	if err != nil {
		return nil, err
	}
	c := newSQLiteConn(":memory:", 0)
	for _, step := range steps[:version] {
		if err := c.script(ctx, step); err != nil {
			c.close()
			return nil, err
		}
	}
	return connToFile(c), nil
}

// Close closes the connection. An open transaction is rolled back.
func (c *Conn) Close() { c.close() }

// Exec executes one statement. The args are the values for its placeholders $1, $2 and so on.
func (c *Conn) Exec(ctx context.Context, statement string, args ...any) error {
	return c.runner.exec(ctx, statement, args)
}

// Query starts a query and returns its rows. The caller must close the rows.
func (c *Conn) Query(ctx context.Context, query string) (Rows, error) {
	return c.runner.query(ctx, query, nil)
}

// Each calls fn for every row that the query returns. It stops at the first error returned by fn.
func (c *Conn) Each(ctx context.Context, query string, fn func(Scanner) error) error {
	return eachRow(ctx, c.runner, query, fn)
}

// First reads the first row in the result of a query into columns. found is false if there is no row.
func (c *Conn) First(ctx context.Context, query string, columns ...any) (found bool, err error) {
	return firstRow(ctx, c.runner, query, columns...)
}

// Insert inserts rows into a table. It calls next for each row until next returns nil or an error.
func (c *Conn) Insert(ctx context.Context, table string, columns []string, next func() ([]any, error)) error {
	if p, ok := c.runner.(pgxRunner); ok {
		_, err := p.conn.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(next))
		return err
	}
	insertion := fmt.Sprintf("INSERT INTO %s (%s) VALUES %s", table, strings.Join(columns, ", "), numbered(placeholders(len(columns))))
	// The statements do not have to watch ctx, because next returns an error when ctx ends.
	lasting := context.WithoutCancel(ctx)
	for {
		row, err := next()
		if err != nil || row == nil {
			return err
		}
		if err := c.runner.exec(lasting, insertion, row); err != nil {
			return err
		}
	}
}

// Migrate brings the schema up to date. It works only on a connection to a SQLite file.
func (c *Conn) Migrate(ctx context.Context) error {
	return migrateSQLite(ctx, c.runner.(*sqliteConn))
}

// VacuumInto writes a copy of the SQLite database to the file at path. It uses a second connection, because this one
// may be in a transaction, and VACUUM cannot run in a transaction.
func (c *Conn) VacuumInto(ctx context.Context, path string) error {
	other := newSQLiteConn(c.uri, lockTimeout(Options{}))
	defer other.close()
	return describeOpenError(other.exec(ctx, "VACUUM INTO $1", []any{path}))
}
