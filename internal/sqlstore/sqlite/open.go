package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
)

// OpenFile returns a connection to a file that no service is using. It does not switch the file to WAL mode. The first
// statement opens the file and creates it if it does not exist.
func OpenFile(path string) *Conn {
	return newConn(fileURI(path), 5*time.Second, pragma{"synchronous", "2"})
}

// OpenMemory returns a connection to a new database in memory, in which all statements have been executed.
func OpenMemory(ctx context.Context, statements []string) (*Conn, error) {
	c := newConn(":memory:", 0)
	for _, text := range statements {
		if err := c.Script(ctx, text); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// OpenReadOnly opens a file without creating, migrating or writing anything. A service may use the file at the same
// time. OpenReadOnly also returns the version of the schema.
func OpenReadOnly(ctx context.Context, path string, schema Schema) (*Conn, int, error) {
	path, err := resolveFile(path, true)
	if err != nil {
		return nil, 0, err
	}
	c, version, err := openVersion(ctx, fileURI(path, "mode=ro"), schema)
	if code := primaryCode(err); (code == sqlite.ResultCantOpen || code == sqlite.ResultReadOnly) && !HasWAL(path) {
		// If the -wal and -shm files cannot be created, immutable=1 lets SQLite read the database without
		// them.
		c, version, err = openVersion(ctx, fileURI(path, "immutable=1"), schema)
	}
	return c, version, describeReadError(path, err)
}

// OpenImmutable is like OpenReadOnly, but does not even create the -wal and -shm files. It must not be used while a
// service is using the file, because it sees neither the WAL nor any locks.
func OpenImmutable(ctx context.Context, path string, schema Schema) (*Conn, int, error) {
	path, err := resolveFile(path, true)
	if err != nil {
		return nil, 0, err
	}
	c, version, err := openVersion(ctx, fileURI(path, "immutable=1"), schema)
	return c, version, describeReadError(path, err)
}

func describeReadError(path string, err error) error {
	if err != nil {
		return fmt.Errorf("cannot read the database %s: %w", path, err)
	}
	return nil
}

func openVersion(ctx context.Context, uri string, schema Schema) (*Conn, int, error) {
	c := newConn(uri, lockTimeout(false))
	version, err := schema.version(ctx, c)
	if err != nil {
		c.Close()
		return nil, 0, err
	}
	return c, version, nil
}

// VacuumInto writes a copy of the database to the file at path. It uses a second connection, because this one may be in
// a transaction, and VACUUM cannot run in a transaction.
func (c *Conn) VacuumInto(ctx context.Context, path string) error {
	other := newConn(c.uri, lockTimeout(false))
	defer other.Close()
	return describeOpenError(other.Exec(ctx, "VACUUM INTO $1", []any{path}))
}
