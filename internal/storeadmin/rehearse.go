package storeadmin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// Rehearsal describes a backup that was restored into a temporary folder.
type Rehearsal struct {
	Schema, Current int // the version of the backup's schema, and the version to which a restore migrates it
	Tables          []TableCount
	NewestEvent     *shop.StoredEvent // nil if there is none
	Findings        int
	Duration        time.Duration // how long unpacking, migrating and checking took
}

// TableCount is the number of rows in a table.
type TableCount struct {
	Name string
	Rows int64
}

// Rehearse restores a backup into a temporary folder, runs Check on the restored store and removes it. It calls report
// for each finding. It fails if the backup could not be restored even with --force.
func Rehearse(ctx context.Context, file string, report func(finding string)) (done Rehearsal, err error) {
	started := time.Now()
	if done.Schema, done.Current, err = schemaOf(ctx, file); err != nil {
		return done, err
	}
	folder, err := os.MkdirTemp("", "animalstore-rehearsal-")
	if err != nil {
		return done, err
	}
	defer os.RemoveAll(folder)
	fresh := filepath.Join(folder, "store.db")
	if err := unpackBackup(ctx, file, fresh); err != nil {
		return done, err
	}
	found, err := Check(ctx, fresh, report)
	if err == nil && found.Damage > 0 {
		err = fmt.Errorf("%s cannot be restored: %w", file, errDamaged)
	}
	if err != nil {
		return done, err
	}
	done.Findings, done.Duration = found.All, time.Since(started)
	return done, done.describe(ctx, fresh)
}

// schemaOf returns the version of a backup's schema and the current version.
func schemaOf(ctx context.Context, file string) (version, current int, err error) {
	c, err := sqlstore.OpenReadOnly(ctx, file)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	steps, err := sqlstore.Migrations(c.Engine)
	return c.Version, len(steps), err
}

// describe counts the rows in the restored store and reads its newest event.
func (r *Rehearsal) describe(ctx context.Context, path string) error {
	c, err := openSnapshot(ctx, path)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, name := range []string{"pets", "categories", "orders", "events", "keys", "webhooks"} {
		count := TableCount{Name: name}
		if _, err := c.First(ctx, "SELECT count(*) FROM "+name, &count.Rows); err != nil {
			return err
		}
		r.Tables = append(r.Tables, count)
	}
	return c.Each(ctx, "SELECT "+sqlstore.Events.Columns+" FROM events ORDER BY id DESC LIMIT 1", func(scan sqlstore.Scanner) error {
		event, err := sqlstore.Events.Scan(scan)
		r.NewestEvent = &event
		return err
	})
}
