package storeadmin

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// place is a folder that contains a store and its backups.
type place struct {
	t    *testing.T
	path string
}

func newPlace(t *testing.T) *place { return &place{t, soundShop(t, "file")} }

func (p *place) backup(name string) string {
	p.t.Helper()
	file := filepath.Join(filepath.Dir(p.path), name)
	must(Backup(p.t.Context(), p.path, file, false, func(finding string) { p.t.Error(finding) }))(p.t)
	return file
}

func (p *place) restore(file string) Restored {
	p.t.Helper()
	return must(Restore(p.t.Context(), file, p.path, RestoreOptions{Force: true}, func(finding string) { p.t.Error(finding) }))(p.t)
}

// add adds pets and returns the ids of the last pet and its event.
func (p *place) add(n int) (pet, event int64) {
	p.t.Helper()
	s := openShop(p.t, p.path)
	defer s.Store.Close()
	for range n {
		pet = s.AddPet(p.t, "new", 1, "").ID
	}
	return pet, must(s.LastEvent(p.t.Context()))(p.t)
}

func (p *place) expectUndone(want string) {
	p.t.Helper()
	c := must(openSnapshot(p.t.Context(), p.path))(p.t)
	defer c.Close()
	got := ""
	must(c.First(p.t.Context(), "SELECT value FROM settings WHERE name = '"+sqlstore.UndoneRangesSetting+"'", &got))(p.t)
	if got != want {
		p.t.Errorf("undone %q, want %q", got, want)
	}
}

// A backup contains writes that are still in the WAL and not yet in the database file.
func TestBackupContainsTheWAL(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := openShop(t, p.path)
	defer s.Store.Close()
	s.AddPet(t, "only in the WAL", 1, "")
	if content := must(os.ReadFile(p.path))(t); strings.Contains(string(content), "only in the WAL") {
		t.Fatal("the database file has the animal already")
	}
	backup := must(sqlstore.OpenReadOnly(t.Context(), p.backup("backup.db")))(t)
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
	restore := func() {
		t.Helper()
		if done := p.restore(file); done.GoOn != 0 || len(done.Keys) != 0 {
			t.Errorf("the restore reports %+v", done)
		}
	}
	expectNext := func(n int, wantPet, wantEvent int64) {
		t.Helper()
		if gotPet, gotEvent := p.add(n); gotPet != wantPet || gotEvent != wantEvent {
			t.Errorf("the next are %d and %d, want %d and %d", gotPet, gotEvent, wantPet, wantEvent)
		}
	}
	restore()
	p.expectUndone("")
	expectNext(3, pet+3, event+3)
	restore()
	p.expectUndone(fmt.Sprintf("%d-%d", event, event+4))
	expectNext(1, pet+4, event+5)
	later := p.backup("later.db")
	p.add(1)
	p.restore(later)
	p.expectUndone(fmt.Sprintf("%d-%d %d-%d", event, event+4, event+5, event+7))
	restore() // this backup is older than all events that the earlier restores have undone
	p.expectUndone(fmt.Sprintf("%d-%d", event, event+8))
}

// If it is not known which ids were assigned after the backup, new ids are greater than any id that can have been
// assigned. This is also true after a second restore.
func TestRestoreOverALostStoreAssignsNoIDAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.backup("backup.db")
	last, lastEvent := p.add(1)
	for name, lose := range map[string]func(){
		"removed":       func() {},
		"removed again": func() {},
		"another store": func() {
			noError(t, os.Rename(soundShop(t, "file"), p.path))
			// The events of this store must differ from those in the backup.
			execFile(t, p.path, "UPDATE events SET at = at + 1")
		},
		"an empty one": func() { open(t, p.path, sqlstore.Options{}).Close() },
		"rubbish":      func() { noError(t, os.WriteFile(p.path, []byte(strings.Repeat("rubbish", 1000)), 0o600)) },
	} {
		noError(t, removeDatabase(p.path))
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
	expectSound(t, p.path)
}

// If the operator gives the last id, new ids continue after it, so they stay short. Positions of events continue after
// the highest position that can have been assigned.
func TestRestoreContinuesAfterTheGivenID(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	last, _ := p.add(1)
	file := p.backup("backup.db")
	_, lostEvent := p.add(3)
	// A given id that is smaller than the ids in the backup has no effect.
	for given, want := range map[int64]int64{last + 40: last + 41, 1: last + 1} {
		noError(t, removeDatabase(p.path))
		done := must(Restore(t.Context(), file, p.path, RestoreOptions{LastID: &given}, func(finding string) { t.Error(finding) }))(t)
		pet, event := p.add(1)
		if pet != want || event <= lostEvent+1_000_000 || event <= done.GoOnEvents {
			t.Errorf("after %d: the next are %d and %d, want %d, and a position far above %d; %+v", given, pet, event, want, lostEvent, done)
		}
	}
	given := int64(3)
	if done := must(Restore(t.Context(), file, p.path, RestoreOptions{Force: true, LastID: &given}, func(string) {}))(t); done.GoOn != 0 {
		t.Errorf("over a store that has the ids: %+v", done)
	}
	expectSound(t, p.path)
}

// Restoring a backup with an older schema migrates the restored copy but not the backup itself.
func TestRestoreMigratesAnOlderSchema(t *testing.T) {
	t.Parallel()
	old, path := oldStore(t), engines["file"](t)
	execFile(t, old, "INSERT INTO settings VALUES ('environment', 'production')")
	backup := (&place{t, old}).backup("backup.db")
	before := must(os.ReadFile(backup))(t)
	must(Restore(t.Context(), backup, path, RestoreOptions{}, func(finding string) { t.Error(finding) }))(t)
	expectSound(t, path)
	if after := must(os.ReadFile(backup))(t); string(after) != string(before) {
		t.Error("the backup was changed")
	}
}

// TestRestoredDumpReusesNoIDs runs the SQL statements that the manual recommends after restoring a PostgreSQL
// dump. Afterwards, no ID may be reused, and clients that read the event feed must learn that events were
// lost.
func TestRestoredDumpReusesNoIDs(t *testing.T) {
	t.Parallel()
	manual := must(os.ReadFile("../../docs/operating.md"))(t)
	found := regexp.MustCompile("(?s)```sql\n(BEGIN;.*?COMMIT;)\n```").FindSubmatch(manual)
	if found == nil {
		t.Fatal("docs/operating.md has no SQL transaction for a restored dump")
	}
	database := engines["server"](t)
	s := openShop(t, database)
	rex := s.AddPet(t, "Rex", 0, shop.Available)
	last := must(s.LastEvent(t.Context()))(t)
	s.Store.Close()
	before := time.Now().Add(-time.Minute).UnixMicro() // the database's clock may be slightly behind
	for range 2 {                                      // running the statements twice does no harm
		conn := must(pgx.Connect(t.Context(), database))(t)
		must(conn.Exec(t.Context(), string(found[1])))(t)
		conn.Close(t.Context())
	}
	expectSound(t, database)
	s = openShop(t, database)
	defer s.Store.Close()
	for what, id := range map[string]int64{
		"animal":   must(s.CreatePet(t.Context(), shop.Caller{}, shop.NewPet{Name: "Mia"}))(t).ID,
		"order":    must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: rex.ID}))(t).ID,
		"category": must(s.CreateCategory(t.Context(), shop.Caller{}, "Cats"))(t).ID,
		"key":      must(s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: "n", Scopes: []shop.Scope{shop.Admin}}))(t).ID,
		"event":    must(s.LastEvent(t.Context()))(t),
	} {
		if id <= before {
			t.Errorf("next %s: got the ID %d, want more than %d", what, id, before)
		}
	}
	for after, want := range map[int64]shop.Code{last: "", last + 1: shop.EventsExpired} { // event last+1 was lost
		_, err := s.ListEvents(t.Context(), shop.Caller{}, shop.EventFilter{}, shop.PageRequest{Limit: 10, After: &after})
		if err == nil && want != "" || err != nil && shop.AsError(err).Code != want {
			t.Errorf("events after %d: got %v, want the error code %q", after, err, want)
		}
	}
	expectSound(t, database)
}
