package sqlite

import (
	"context"
	"errors"
	"fmt"

	"animalstore/internal/sqlstore/engine"
)

// Schema describes the tables of a database. The user_version of the file is the number of migrations that have been
// applied.
type Schema struct {
	// ApplicationID is the application_id of the file. It distinguishes the file from the database of another program.
	ApplicationID int
	Migrations    []string
	New           string // makes a new file as all migrations together do, in less time; may be empty
}

// prepareSchema brings the schema of a file up to date. It first inspects the file without the engine's pragmas,
// because setting journal_mode would change the database of another program.
func prepareSchema(ctx context.Context, path string, o Options) error {
	plain := newConn(fileURI(path), lockTimeout(o.Exclusive))
	version, err := o.Schema.version(ctx, plain)
	plain.Close()
	if err != nil {
		return err
	}
	if !o.Exclusive && 0 < version && version < len(o.Schema.Migrations) {
		unlock, err := lockOlder(path)
		if err != nil {
			return err
		}
		defer unlock()
	}
	c := storeConn(path, o.Exclusive)
	defer c.Close()
	if err := c.Migrate(ctx, o.Schema); err != nil {
		return err
	}
	if o.Exclusive {
		return checkWritable(ctx, c, o.WriteProbe)
	}
	return nil
}

// lockOlder locks a file with an older schema while it is migrated. It fails if a service is using the file: this
// service has an earlier version and does not know the new tables.
func lockOlder(path string) (unlock func() error, err error) {
	unlock, err = LockFile(lockPath(path))
	if errors.Is(err, ErrLocked) {
		err = errors.New("its schema is older than this version of animalstore, and a service is using it; " +
			"stop the running service of the older version first")
	}
	return unlock, err
}

// Migrate brings the schema up to date. It runs all missing migrations in one BEGIN IMMEDIATE transaction, so any
// number of processes may start at the same time.
func (c *Conn) Migrate(ctx context.Context, schema Schema) error {
	known := len(schema.Migrations)
	version, err := schema.version(ctx, c)
	if err != nil || version == known {
		return err
	}
	if version > known {
		return engine.NewerSchemaError(version, known)
	}
	if err := c.Exec(ctx, "BEGIN IMMEDIATE", nil); err != nil {
		return describeOpenError(err)
	}
	// Read the version again under the lock, because another process may have run the migrations in the
	// meantime.
	if version, err = schema.version(ctx, c); err == nil {
		err = schema.apply(ctx, c, version)
	}
	if err != nil {
		c.rollback()
	}
	return err
}

// apply runs all migrations after the given version, or New instead of all of them, and commits the transaction.
func (s Schema) apply(ctx context.Context, c *Conn, version int) error {
	missing := s.Migrations[min(version, len(s.Migrations)):]
	if version == 0 && s.New != "" {
		missing = []string{s.New}
	}
	for i, statements := range missing {
		if err := c.Script(ctx, statements); err != nil {
			return fmt.Errorf("migration %d: %w", version+i+1, err)
		}
	}
	return engine.ExecAll(ctx, c,
		fmt.Sprintf("PRAGMA application_id = %d", s.ApplicationID),
		fmt.Sprintf("PRAGMA user_version = %d", max(version, len(s.Migrations))),
		"COMMIT")
}

// version returns the number of migrations that have been applied to a file. It returns an error if the file belongs
// to another program.
func (s Schema) version(ctx context.Context, c *Conn) (version int, err error) {
	var application, tables int
	_, err = engine.FirstRow(ctx, c, `
		SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
		       (SELECT count(*) FROM sqlite_schema)`, &application, &version, &tables)
	if err != nil {
		return 0, describeOpenError(err)
	}
	if application != s.ApplicationID && (application != 0 || version != 0 || tables != 0) {
		return 0, errors.New("it belongs to another program")
	}
	return version, nil
}
