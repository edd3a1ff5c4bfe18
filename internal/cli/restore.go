package cli

import (
	"context"
	"fmt"

	"animalstore/internal/storeadmin"
)

// restoreCommand replaces a store with a backup.
type restoreCommand struct {
	Database string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"FILE" help:"Store to restore: a file that is not in use (default ${default})."`
	Force    bool   `help:"Replace an existing store, which is kept beside it, or restore an inconsistent backup."`
	File     string `arg:"" placeholder:"FILE" help:"Backup to restore."`
}

// Run restores the backup. It prints where the old store was moved to and which keys are valid again.
func (r *restoreCommand) Run(ctx context.Context, t terminal) error {
	if err := checkFile(r.Database); err != nil {
		return err
	}
	done, err := storeadmin.Restore(ctx, r.File, r.Database, r.Force, lineWriter(t.err))
	if err := orInterrupted(ctx, err); err != nil {
		return err
	}
	fmt.Fprintf(t.err, "Restored %s from %s.\n", r.Database, r.File)
	if done.Kept != "" {
		fmt.Fprintf(t.err, "The previous store is kept in %s.\n", done.Kept)
	}
	if done.GoOn > 0 {
		fmt.Fprintf(t.err, "The ids assigned after the backup are unknown, so new ids continue after %d, above all of them.\n", done.GoOn)
	}
	for _, key := range done.Keys {
		fmt.Fprintln(t.err, "Key "+escapeControls(key)+".")
	}
	return nil
}
