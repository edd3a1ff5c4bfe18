package cli

import (
	"context"
	"fmt"
	"time"

	"animalstore/internal/storeadmin"
)

// restoreCommand replaces a store with a backup.
type restoreCommand struct {
	Database      string `env:"ANIMALSTORE_DATABASE" default:"animalstore.db" placeholder:"FILE" help:"Store to restore: a file that is not in use (default ${default})."`
	Force         bool   `help:"Replace an existing store, which is kept beside it, or restore an inconsistent backup."`
	ContinueAfter *int64 `name:"continue-after" placeholder:"ID" help:"Largest id of an animal, order, category, key or webhook that was assigned after the backup, if the store that had them is lost: new ids continue after it."`
	Rehearse      bool   `help:"Restore into a temporary folder, check the result and remove it; the store is not touched."`
	File          string `arg:"" placeholder:"FILE" help:"Backup to restore."`
}

// maxContinueAfter is the largest value of --continue-after. It is half of 2^53, the limit up to which JavaScript
// represents integers exactly. The other half is left for new ids.
const maxContinueAfter = 1 << 52

// Run restores the backup. It prints where the old store was moved to and which keys are valid again.
func (r *restoreCommand) Run(ctx context.Context, t terminal) error {
	if r.Rehearse {
		return r.rehearse(ctx, t)
	}
	if err := checkFile(r.Database); err != nil {
		return err
	}
	if r.ContinueAfter != nil && (*r.ContinueAfter < 0 || *r.ContinueAfter > maxContinueAfter) {
		return usagef("--continue-after: %d is out of range; expected 0 to %d", *r.ContinueAfter, int64(maxContinueAfter))
	}
	options := storeadmin.RestoreOptions{Force: r.Force, LastID: r.ContinueAfter}
	done, err := storeadmin.Restore(ctx, r.File, r.Database, options, lineWriter(t.err))
	if err := orInterrupted(ctx, err); err != nil {
		return err
	}
	fmt.Fprintf(t.err, "Restored %s from %s.\n", r.Database, r.File)
	if done.Kept != "" {
		fmt.Fprintf(t.err, "The previous store is kept in %s.\n", done.Kept)
	}
	switch {
	// The ids assigned after the backup are known, so there is nothing to report.
	case done.GoOnEvents == 0:
	case r.ContinueAfter != nil:
		fmt.Fprintf(t.err, "New ids continue after %d. Positions of events continue after %d.\n", done.GoOn, done.GoOnEvents)
	default:
		fmt.Fprintf(t.err, "The ids assigned after the backup are unknown, so new ids continue after %d, above all of them. "+
			"If you know the largest, restore again with --continue-after.\n", done.GoOn)
	}
	for _, key := range done.Keys {
		fmt.Fprintln(t.err, "Key "+escapeControls(key)+".")
	}
	return nil
}

// rehearse restores the backup into a temporary folder and prints a summary of the result. It fails if the backup
// cannot be restored without --force.
func (r *restoreCommand) rehearse(ctx context.Context, t terminal) error {
	if r.Force {
		return usagef("--rehearse and --force: set only one of them")
	}
	if r.ContinueAfter != nil {
		return usagef("--rehearse and --continue-after: set only one of them")
	}
	done, err := storeadmin.Rehearse(ctx, r.File, lineWriter(t.err))
	if err := orInterrupted(ctx, err); err != nil {
		return err
	}
	list := newTable(t.out)
	for _, table := range done.Tables {
		list.add(table.Name, formatInt(table.Rows))
	}
	event := "none"
	if e := done.NewestEvent; e != nil {
		event = fmt.Sprintf("%d, %s %s, %s", e.ID, e.Type, e.Subject, e.Time.UTC().Format(time.RFC3339))
	}
	list.add("newest event", event)
	schema := fmt.Sprintf("%d, which is current", done.Schema)
	if done.Schema < done.Current {
		schema = fmt.Sprintf("%d, which the restore migrates to %d", done.Schema, done.Current)
	}
	list.add("schema", schema)
	list.add("duration", done.Duration.Round(time.Millisecond).String())
	if err := list.flush(); err != nil {
		return err
	}
	if done.Findings > 0 {
		return fmt.Errorf("%s breaks rules of the store (%s), so it can be restored only with --force", r.File, count(done.Findings, "finding"))
	}
	_, err = fmt.Fprintf(t.err, "%s can be restored.\n", r.File)
	return err
}
