package e2e

import (
	"database/sql"
	"fmt"
	"net/url"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"
)

// TestAcknowledgedAnimalsSurviveKill kills the service again and again while clients add animals. What was acknowledged must be there
// afterwards, as it was sent; what was not may be there, but then whole, and only once.
func TestAcknowledgedAnimalsSurviveKill(t *testing.T) {
	t.Parallel()
	const rounds, clients = 30, 8
	f := newFolderWithKey(t)
	records := newLedger()
	for round := range rounds {
		p := f.serve()
		records.check(t, p.walk())
		s := &storm{program: p, name: fmt.Sprint("round ", round), clients: clients, after: int64(20 + 5*round),
			end: func() { p.signal(syscall.SIGKILL) }}
		s.run()
		p.kill() // only to wait until it is gone
		for _, problem := range s.problems {
			t.Error(problem)
		}
		records.add(t, s)
		if t.Failed() {
			return
		}
	}
	checkIntegrity(t, f.path("animalstore.db"))
	p := f.serve()
	records.check(t, p.walk())
	p.stop()
	t.Logf("%d animals were acknowledged, %d are there", len(records.acknowledged), records.present)
}

// ledger is what the clients together know.
type ledger struct {
	sent         map[string]pet
	acknowledged map[int64]pet
	present      int   // how many animals the last check found
	newest       int64 // the largest id that anybody has ever seen
}

func newLedger() *ledger { return &ledger{sent: map[string]pet{}, acknowledged: map[int64]pet{}} }

// add notes what came of a storm. Its ids must be new, and larger than all that were seen before it.
func (l *ledger) add(t *testing.T, s *storm) {
	t.Helper()
	before := l.newest
	for name, animal := range s.sent {
		l.sent[name] = animal
	}
	for _, animal := range s.acknowledged {
		if _, again := l.acknowledged[animal.ID]; again || animal.ID <= before {
			t.Errorf("%+v was given an id that is not new; %d was the newest before", animal, before)
		}
		l.acknowledged[animal.ID] = animal
		l.newest = max(l.newest, animal.ID)
	}
}

// check compares the catalogue, newest first, with what the clients know.
func (l *ledger) check(t *testing.T, catalogue []pet) {
	t.Helper()
	byID, names := map[int64]pet{}, map[string]bool{}
	for i, animal := range catalogue {
		if i > 0 && animal.ID >= catalogue[i-1].ID {
			t.Errorf("%d comes after %d in the list", animal.ID, catalogue[i-1].ID)
		}
		if names[animal.Name] {
			t.Errorf("%+v is there twice", animal)
		}
		sent := l.sent[animal.Name]
		if sent.ID = animal.ID; sent != animal {
			t.Errorf("%+v is there, and nobody sent it", animal)
		}
		byID[animal.ID], names[animal.Name] = animal, true
		l.newest = max(l.newest, animal.ID)
	}
	for id, animal := range l.acknowledged {
		if byID[id] != animal {
			t.Errorf("%+v was acknowledged; found: %+v", animal, byID[id])
		}
	}
	l.present = len(catalogue)
}

// checkIntegrity lets SQLite look for damage in a database that no program has open.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db := openDatabase(t, path)
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check: %q, %v", verdict, err)
	}
	var strays int
	if err := db.QueryRow("SELECT count(*) FROM pragma_foreign_key_check").Scan(&strays); err != nil || strays != 0 {
		t.Errorf("foreign_key_check: %d, %v", strays, err)
	}
}

// openDatabase opens a database behind the program's back.
func openDatabase(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String())
	if err != nil {
		t.Fatal(err)
	}
	return db
}
