package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"animalstore/internal/sqlstore"
)

// backupCommand makes a backup of a store that may be served meanwhile.
type backupCommand struct {
	Database string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"FILE" help:"The store to back up: a file (default ${default})."`
	Force    bool   `help:"Replace a file that is there already."`
	File     string `arg:"" placeholder:"FILE" help:"The file to write."`
}

// Run says where the backup is. A store that breaks rules is backed up all the same, and told of.
func (b *backupCommand) Run(ctx context.Context, t terminal) error {
	if err := checkFile(b.Database); err != nil {
		return err
	}
	found, err := sqlstore.Backup(ctx, b.Database, b.File, b.Force, tellTo(t.err))
	if err := interrupted(ctx, err); err != nil {
		return err
	}
	info, err := os.Stat(b.File)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.err, "Backed up %s to %s: %d bytes, read back.\n", b.Database, b.File, info.Size())
	if found.All > 0 {
		return fmt.Errorf("the backup is whole, but the store breaks rules: %d findings", found.All)
	}
	return nil
}

// restoreCommand puts a backup in the place of a store.
type restoreCommand struct {
	Database string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"FILE" help:"Where to restore it: a file that nobody serves (default ${default})."`
	Force    bool   `help:"Restore over a store that is there already, which is kept beside it, or from a backup that breaks rules."`
	File     string `arg:"" placeholder:"FILE" help:"The backup."`
}

// Run says what else an operator has to know: where the old store is, and which keys have come back.
func (r *restoreCommand) Run(ctx context.Context, t terminal) error {
	if err := checkFile(r.Database); err != nil {
		return err
	}
	done, err := sqlstore.Restore(ctx, r.File, r.Database, r.Force, tellTo(t.err))
	if err := interrupted(ctx, err); err != nil {
		return err
	}
	fmt.Fprintf(t.err, "Restored %s from %s.\n", r.Database, r.File)
	if done.Kept != "" {
		fmt.Fprintf(t.err, "The store that was there is kept in %s.\n", done.Kept)
	}
	if done.GoOn > 0 {
		fmt.Fprintf(t.err, "It is not known which ids were given out after the backup: new ones go on after %d, above all of them.\n", done.GoOn)
	}
	for _, key := range done.Keys {
		fmt.Fprintln(t.err, "Key "+visible(key)+".")
	}
	return nil
}

// checkFile checks a database that must be a file.
func checkFile(database string) error {
	if sqlstore.IsURL(database) {
		return usagef("--database: a PostgreSQL server is backed up and restored with its own tools, such as pg_dump and pg_restore")
	}
	if err := checkDatabase(database, databaseVariable); err != nil {
		return usagef("--database: %w", err)
	}
	return nil
}

// interrupted says so where a command was, and not what that broke.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: nothing was changed")
	}
	return err
}

// tellTo writes each finding in a line of its own.
func tellTo(w io.Writer) func(string) {
	return func(finding string) { fmt.Fprintln(w, visible(finding)) }
}
