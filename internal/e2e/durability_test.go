package e2e

import (
	"database/sql"
	"fmt"
	"net/url"
	"slices"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// TestAcknowledgedAnimalsSurviveKill kills the service repeatedly while clients create animals. Every
// acknowledged animal must still exist, unchanged. An unacknowledged animal may exist, but it must be
// complete and must not exist twice.
func TestAcknowledgedAnimalsSurviveKill(t *testing.T) {
	t.Parallel()
	const rounds, clients = 8, 8
	f := programtest.NewFolderWithKey(t)
	records := newLedger()
	for round := range rounds {
		p := f.Serve()
		records.check(t, p.Walk())
		s := &writeLoad{program: p, name: fmt.Sprint("round ", round), clients: clients, after: int64(20 + 15*round),
			end: func() { p.Signal(syscall.SIGKILL) }}
		s.run()
		p.Kill() // wait until the process has exited
		for _, problem := range s.problems {
			t.Error(problem)
		}
		records.add(t, s)
		if t.Failed() {
			return
		}
	}
	checkIntegrity(t, f.Path("animalstore.db"))
	p := f.Serve()
	records.check(t, p.Walk())
	records.checkEvents(t, p)
	p.Stop()
	t.Logf("%d animals acknowledged, %d stored", len(records.acknowledged), records.present)
}

// ledger records which animals the clients have sent and which ones the service has acknowledged.
type ledger struct {
	sent         map[string]programtest.Pet
	acknowledged map[int64]programtest.Pet
	present      int   // the number of animals found by the last check
	newest       int64 // the largest ID seen so far
}

func newLedger() *ledger {
	return &ledger{sent: map[string]programtest.Pet{}, acknowledged: map[int64]programtest.Pet{}}
}

// add records the results of a write load. The IDs of its animals must be larger than all IDs recorded
// before.
func (l *ledger) add(t *testing.T, s *writeLoad) {
	t.Helper()
	before := l.newest
	for name, animal := range s.sent {
		l.sent[name] = animal
	}
	for _, animal := range s.acknowledged {
		if _, again := l.acknowledged[animal.ID]; again || animal.ID <= before {
			t.Errorf("%+v: id was used before; want an id above %d", animal, before)
		}
		l.acknowledged[animal.ID] = animal
		l.newest = max(l.newest, animal.ID)
	}
}

// check compares the catalogue with the recorded animals. The catalogue must list the newest animal first.
func (l *ledger) check(t *testing.T, catalogue []programtest.Pet) {
	t.Helper()
	byID, names := map[int64]programtest.Pet{}, map[string]bool{}
	for i, animal := range catalogue {
		if i > 0 && animal.ID >= catalogue[i-1].ID {
			t.Errorf("the list is out of order: %d follows %d", animal.ID, catalogue[i-1].ID)
		}
		if names[animal.Name] {
			t.Errorf("%+v is stored twice", animal)
		}
		sent := l.sent[animal.Name]
		if sent.ID = animal.ID; sent != animal {
			t.Errorf("%+v is stored, but no client sent it", animal)
		}
		byID[animal.ID], names[animal.Name] = animal, true
		l.newest = max(l.newest, animal.ID)
	}
	for id, animal := range l.acknowledged {
		if byID[id] != animal {
			t.Errorf("acknowledged animal %d: got %+v, want %+v", id, byID[id], animal)
		}
	}
	l.present = len(catalogue)
}

// checkEvents checks that the feed announces every stored animal exactly once, in the order of their IDs.
func (l *ledger) checkEvents(t *testing.T, p *programtest.Program) {
	t.Helper()
	var announced []int64
	for _, text := range p.Feed() {
		event := programtest.Decode[client.Event](t, text)
		if animal, _, err := event.Pet(); err == nil && event.Type == client.EventPetCreated {
			announced = append(announced, animal.ID)
		}
	}
	var stored []int64
	for _, animal := range slices.Backward(p.Walk()) {
		stored = append(stored, animal.ID)
	}
	if !slices.Equal(announced, stored) {
		t.Errorf("animals announced in the feed: got %v, want the stored ones %v", announced, stored)
	}
}

// checkIntegrity runs SQLite's integrity checks on a database that no other process has open.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db := openDatabase(t, path)
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check: got %q, %v, want ok", verdict, err)
	}
	var violations int
	if err := db.QueryRow("SELECT count(*) FROM pragma_foreign_key_check").Scan(&violations); err != nil || violations != 0 {
		t.Errorf("foreign_key_check: got %d violations, %v, want none", violations, err)
	}
}

// openDatabase opens a SQLite database directly, without going through the program.
func openDatabase(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String())
	if err != nil {
		t.Fatal(err)
	}
	return db
}
