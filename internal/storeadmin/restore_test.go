package storeadmin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
)

// place is a folder that contains a store and its backups.
type place struct {
	t    *testing.T
	dir  string
	path string
}

func newPlace(t *testing.T) *place {
	path := soundShop(t, "file")
	p := &place{t, filepath.Dir(path), path}
	return p
}

func (p *place) backup(name string) string {
	p.t.Helper()
	file := filepath.Join(p.dir, name)
	if found, err := Backup(p.t.Context(), p.path, file, false, func(string) {}); err != nil || found.All > 0 {
		p.t.Fatalf("%+v, %v", found, err)
	}
	return file
}

func (p *place) restore(file string) Restored {
	p.t.Helper()
	done, err := Restore(p.t.Context(), file, p.path, true, func(finding string) { p.t.Error(finding) })
	if err != nil {
		p.t.Fatal(err)
	}
	return done
}

// add adds pets and returns the ids of the last pet and its event.
func (p *place) add(n int) (pet, event int64) {
	p.t.Helper()
	s, err := shoptest.OpenAt(p.t.Context(), p.path, shop.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	defer s.Store.Close()
	for range n {
		pet = s.AddPet(p.t, "new", 1, "").ID
	}
	if event, err = s.LastEvent(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	return pet, event
}

func (p *place) undone() string {
	p.t.Helper()
	c, err := openSnapshot(p.t.Context(), p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	text := ""
	if _, err := c.First(p.t.Context(), "SELECT value FROM settings WHERE name = '"+sqlstore.RewindSetting+"'", &text); err != nil {
		p.t.Fatal(err)
	}
	return text
}

// The newest writes of a running service are not in the database file yet, but in its WAL.
func TestBackupHasTheWritesInTheWAL(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s, err := shoptest.OpenAt(t.Context(), p.path, shop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Store.Close()
	s.AddPet(t, "only in the WAL", 1, "")
	content, err := os.ReadFile(p.path)
	if err != nil || strings.Contains(string(content), "only in the WAL") {
		t.Fatalf("the database file has the animal already, %v", err)
	}
	backup, err := sqlstore.OpenReadOnly(t.Context(), p.backup("backup.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer backup.Close()
	if n, err := number(t.Context(), backup, "SELECT count(*) FROM pets WHERE name = 'only in the WAL'"); err != nil || n != 1 {
		t.Errorf("the backup has the animal %d times, want once: %v", n, err)
	}
}

// A restored store does not reuse ids that were assigned after the backup.
func TestRestoreAssignsNoIDAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	pet, event := p.add(1)
	file := p.backup("backup.db")
	if done := p.restore(file); done.GoOn != 0 || len(done.Keys) != 0 || p.undone() != "" {
		t.Errorf("%+v, undone %q", done, p.undone())
	}
	if gotPet, gotEvent := p.add(3); gotPet != pet+3 || gotEvent != event+3 {
		t.Errorf("the third are %d and %d after %d and %d", gotPet, gotEvent, pet, event)
	}
	if done := p.restore(file); done.GoOn != 0 || p.undone() != fmt.Sprintf("%d-%d", event, event+4) {
		t.Errorf("%+v, undone %q", done, p.undone())
	}
	if gotPet, gotEvent := p.add(1); gotPet != pet+4 || gotEvent != event+5 {
		t.Errorf("the next are %d and %d after %d and %d", gotPet, gotEvent, pet, event)
	}
	later := p.backup("later.db")
	p.add(1)
	p.restore(later)
	if want := fmt.Sprintf("%d-%d %d-%d", event, event+4, event+5, event+7); p.undone() != want {
		t.Errorf("undone %q, want %q", p.undone(), want)
	}
	p.restore(file) // this backup is older than everything that the earlier restores have undone
	if want := fmt.Sprintf("%d-%d", event, event+8); p.undone() != want {
		t.Errorf("undone %q, want %q", p.undone(), want)
	}
}

// If the ids that were assigned after the backup are unknown, new ids are greater than any id that can have
// been assigned. This is also true after a second restore.
func TestRestoreOverALostStoreAssignsNoIDAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.backup("backup.db")
	last, lastEvent := p.add(1)
	for name, lose := range map[string]func(){
		"removed":       func() {},
		"removed again": func() {},
		"another store": func() {
			if err := os.Rename(soundShop(t, "file"), p.path); err != nil {
				t.Fatal(err)
			}
			execFile(t, p.path, "UPDATE events SET at = at + 1") // its events are not those of the backup
		},
		"an empty one": func() { open(t, p.path, sqlstore.Options{}).Close() },
		"rubbish": func() {
			if err := os.WriteFile(p.path, []byte(strings.Repeat("rubbish", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		if err := removeDatabase(p.path); err != nil {
			t.Fatal(err)
		}
		lose()
		done := p.restore(file)
		pet, event := p.add(1)
		if done.GoOn <= last || done.GoOn <= lastEvent || pet <= done.GoOn || event <= done.GoOn+1 {
			t.Errorf("%s: %+v; the next are %d and %d after %d and %d", name, done, pet, event, last, lastEvent)
		}
		last, lastEvent = p.add(3)
	}
	// The store that was replaced can be restored, too.
	kept := p.restore(file).Kept
	_, event := p.add(1)
	if done := p.restore(kept); done.GoOn <= event {
		t.Errorf("%+v, after %d", done, event)
	}
	if got := findings(t, p.path); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// Restoring a backup with an older schema migrates the restored copy but not the backup itself.
func TestRestoreMigratesAnOlderSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, backup, path := filepath.Join(dir, "old.db"), filepath.Join(dir, "backup.db"), filepath.Join(dir, "test.db")
	steps, err := sqlstore.Migrations(sqlstore.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	execFile(t, old, steps[0]+fmt.Sprintf("; PRAGMA application_id = %d; PRAGMA user_version = 1; INSERT INTO settings VALUES ('environment', 'production')", applicationID))
	if _, err := Backup(t.Context(), old, backup, false, func(string) {}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), backup, path, false, func(finding string) { t.Error(finding) }); err != nil {
		t.Fatal(err)
	}
	if found := findings(t, path); len(found) > 0 {
		t.Errorf("%q", found)
	}
	if after, err := os.ReadFile(backup); err != nil || string(after) != string(before) {
		t.Errorf("the backup was changed, %v", err)
	}
}
