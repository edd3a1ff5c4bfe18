package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"animalstore/internal/sqlstore"
	"animalstore/internal/storeadmin"
)

// backupCommand backs up a store, even while the store is in use.
type backupCommand struct {
	Database string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"FILE" help:"Store to back up: a file (default ${default})."`
	Force    bool   `help:"Overwrite an existing file."`
	File     string `arg:"" placeholder:"FILE" help:"File to write."`
}

// Run writes the backup and prints its size. If the store is inconsistent, Run still writes the backup but
// then returns an error.
func (b *backupCommand) Run(ctx context.Context, t terminal) error {
	if err := checkFile(b.Database); err != nil {
		return err
	}
	found, err := storeadmin.Backup(ctx, b.Database, b.File, b.Force, lineWriter(t.err))
	if err := orInterrupted(ctx, err); err != nil {
		return err
	}
	info, err := os.Stat(b.File)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.err, "Backed up %s to %s: %d bytes, verified.\n", b.Database, b.File, info.Size())
	if found.All > 0 {
		return fmt.Errorf("the backup is complete, but the store is inconsistent: %s", count(found.All, "finding"))
	}
	return nil
}

// checkFile checks that the database is a file and not a server.
func checkFile(database string) error {
	if sqlstore.IsURL(database) {
		return usagef("--database: use the tools of PostgreSQL, such as pg_dump and pg_restore, to back up and restore a server")
	}
	if err := checkDatabase(database, databaseVariable); err != nil {
		return usagef("--database: %w", err)
	}
	return nil
}

// orInterrupted returns err. If the command was interrupted, it instead returns an error that says that nothing was
// changed.
func orInterrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: nothing was changed")
	}
	return err
}

// lineWriter returns a function that writes a finding to w as one line.
func lineWriter(w io.Writer) func(string) {
	return func(finding string) { fmt.Fprintln(w, escapeControls(finding)) }
}
