package e2e

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"slices"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// TestAcknowledgedAnimalsSurviveKill kills the service repeatedly while clients create animals, and add and remove photos.
// Every acknowledged animal and photo must still exist, unchanged, and no removed one. An unacknowledged animal may exist, but
// it must be complete and must not exist twice.
func TestAcknowledgedAnimalsSurviveKill(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	l := newLoad(t)
	for round := range 8 {
		p := f.Serve()
		l.check(p)
		l.addUntil(p, fmt.Sprint("round ", round), int64(20+15*round), func() { p.Signal(syscall.SIGKILL) })
		p.Kill() // Kill also waits until the process has exited
		if t.Failed() {
			return
		}
	}
	checkIntegrity(t, f.Path("animalstore.db"))
	f.MustRun("check")
	p := f.Serve()
	l.check(p)
	if announced, stored := announcedAndStored(p); !slices.Equal(announced, stored) {
		t.Errorf("animals announced in the feed: got %v, want the stored ones %v, in order", announced, stored)
	}
	p.Stop()
}

// announcedAndStored returns two lists of IDs: the animals whose creation the feed announces, in the order of the
// feed, and all stored animals, oldest first.
func announcedAndStored(p *programtest.Program) (announced, stored []int64) {
	p.T.Helper()
	for _, text := range p.Feed() {
		event := programtest.Decode[client.Event](p.T, text)
		if animal, _, err := event.Pet(); err == nil && event.Type == client.EventPetCreated {
			announced = append(announced, animal.ID)
		}
	}
	for _, animal := range slices.Backward(p.Walk()) {
		stored = append(stored, animal.ID)
	}
	return announced, stored
}

// checkIntegrity runs SQLite's integrity checks on a database that no other process has open.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db := openDatabase(t, path)
	defer db.Close()
	const foreignKeys = "SELECT count(*) FROM pragma_foreign_key_check"
	for statement, want := range map[string]string{"PRAGMA integrity_check": "ok", foreignKeys: "0"} {
		var got string
		if err := db.QueryRow(statement).Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", statement, got, err, want)
		}
	}
}

// openDatabase opens a SQLite database directly, without going through the program.
func openDatabase(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path}).String())
	must(t, err)
	return db
}

// execSQL runs statements directly on a SQLite database in the folder, as another program would.
func execSQL(f *programtest.Folder, name, statements string) {
	f.T.Helper()
	db := openDatabase(f.T, f.Path(name))
	defer db.Close()
	_, err := db.Exec(statements)
	must(f.T, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestStopUnderLoadLosesNoWrite stops the service while clients add animals. Each request must either get a
// complete response or get none because the connection was closed. Every acknowledged animal must exist after
// the restart.
func TestStopUnderLoadLosesNoWrite(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	l := newLoad(t)
	for round, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGTERM} {
		p := f.Serve()
		l.check(p)
		l.addUntil(p, fmt.Sprint("round ", round), int64(10+80*round), func() { p.Signal(signal) })
		if n := l.truncated.Load(); n > 0 {
			t.Errorf("%d responses were truncated, want none", n)
		}
		if code := p.ExitCode(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	}
	l.check(f.Serve())
}
