package sqlstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"zombiezen.com/go/sqlite"
)

// OpenReadOnly opens a store without creating, migrating or writing anything. A service may use the store at
// the same time. OpenReadOnly fails if there is no store, or if a newer version of animalstore has written
// the store.
func OpenReadOnly(ctx context.Context, database string) (c *Conn, err error) {
	if IsURL(database) {
		c, err = openServerReadOnly(ctx, database)
	} else {
		c, err = openFileReadOnly(ctx, database)
	}
	if err != nil {
		return nil, err
	}
	return c.requireStore()
}

// requireStore closes the connection and returns an error if the database contains no store, or if a newer version of
// animalstore has migrated the store.
func (c *Conn) requireStore() (*Conn, error) {
	steps, err := Migrations(c.Engine)
	switch {
	case err != nil:
	case c.Version == 0:
		err = ErrNoStore
	case c.Version > len(steps):
		err = errNewer(c.Version, len(steps))
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// OpenImmutable is like OpenReadOnly for a SQLite file, but does not even create the -wal and -shm files. It must not
// be used while a service is using the store, because it sees neither the WAL nor any locks.
func OpenImmutable(ctx context.Context, path string) (*Conn, error) {
	path, err := resolveFile(path, true)
	if err != nil {
		return nil, err
	}
	c, err := readFile(ctx, fileURI(path, "immutable=1"))
	if err != nil {
		return nil, fmt.Errorf("cannot read the database %s: %w", path, err)
	}
	return c.requireStore()
}

func openServerReadOnly(ctx context.Context, url string) (*Conn, error) {
	config, _, err := parsePostgresURL(url)
	if err != nil {
		return nil, err
	}
	// Accept a standby too, because this connection only reads.
	config.ValidateConnect = func(_ context.Context, conn *pgconn.PgConn) error { return checkServer(conn) }
	c, err := connToServer(ctx, config)
	if err != nil {
		return nil, err
	}
	if c.Version, err = postgresVersion(ctx, c.runner); err == nil && c.Version > 0 {
		c.LostTimeline, err = lostTimeline(ctx, c.runner)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func openFileReadOnly(ctx context.Context, path string) (*Conn, error) {
	path, err := resolveFile(path, true)
	if err != nil {
		return nil, err
	}
	c, err := readFile(ctx, fileURI(path, "mode=ro"))
	if code := primaryCode(err); (code == sqlite.ResultCantOpen || code == sqlite.ResultReadOnly) && !HasWAL(path) {
		// If the -wal and -shm files cannot be created, immutable=1 lets SQLite read the database without
		// them.
		c, err = readFile(ctx, fileURI(path, "immutable=1"))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the database %s: %w", path, err)
	}
	return c, nil
}

func readFile(ctx context.Context, uri string) (*Conn, error) {
	c := connToFile(newSQLiteConn(uri, lockTimeout(Options{})))
	version, err := schemaVersion(ctx, c.runner)
	if err != nil {
		c.Close()
		return nil, err
	}
	c.Version = version
	return c, nil
}
