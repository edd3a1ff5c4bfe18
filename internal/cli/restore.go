package cli

import (
	"context"
	"fmt"

	"animalstore/internal/sqlstore"
)

// restoreCommand replaces a store with a backup.
type restoreCommand struct {
	Database string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"FILE" help:"Where to restore it: a file that nobody serves (default ${default})."`
	Force    bool   `help:"Restore over a store that is there already, which is kept beside it, or from a backup that breaks rules."`
	File     string `arg:"" placeholder:"FILE" help:"The backup."`
}

// Run restores the backup and prints where the old store is and which keys are valid again.
func (r *restoreCommand) Run(ctx context.Context, t terminal) error {
	if err := checkFile(r.Database); err != nil {
		return err
	}
	done, err := sqlstore.Restore(ctx, r.File, r.Database, r.Force, lineWriter(t.err))
	if err := orInterrupted(ctx, err); err != nil {
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
		fmt.Fprintln(t.err, "Key "+escapeControls(key)+".")
	}
	return nil
}
