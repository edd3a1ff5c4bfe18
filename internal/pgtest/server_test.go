package pgtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStartAppliesSettingsAndDurableTurnsFsyncOn(t *testing.T) {
	t.Parallel()
	got := Value[string](Connect(t, Start(t, append(Durable, "work_mem=5MB")...).URL()), `
		SELECT concat_ws(' ', pg_encoding_to_char(encoding), datcollate, current_setting('work_mem'), current_setting('fsync'))
		FROM pg_database WHERE datname = current_database()`)
	if want := "UTF8 C.UTF-8 5MB on"; got != want {
		t.Errorf("the encoding, the collation, work_mem and fsync are %s, want %s", got, want)
	}
}

func TestTemplateIsFilledOnceAndCopied(t *testing.T) {
	t.Parallel()
	filled := 0
	fill := func(url string) error {
		filled++
		db := Connect(t, url)
		db.Do("CREATE TABLE pet AS SELECT 1 AS id")
		return db.Close()
	}
	for range 2 {
		db := Connect(t, Shared(t).NewDatabaseFrom(t, "with_a_pet", fill))
		wantRows(t, db, 1)
		db.Do("INSERT INTO pet VALUES (2)")
	}
	if filled != 1 {
		t.Errorf("the template was filled %d times, want once", filled)
	}
}

func TestDatabaseIsDropped(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	var db *DB
	t.Run("use", func(use *testing.T) {
		db = Connect(t, s.NewDatabase(use)) // this connection is still open when the database is dropped
		db.Do("SELECT")
	})
	if err := db.Ping(); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("got %v, want that the database does not exist", err)
	}
}

// After a crash, the committed rows are present and the uncommitted rows are not.
func TestKillKeepsOnlyCommittedRows(t *testing.T) {
	t.Parallel()
	s := Start(t)
	db := Connect(t, s.NewDatabase(t))
	db.Do("CREATE TABLE pet (id int)")
	open, err := db.Begin()
	must(t, err)
	defer open.Rollback()
	_, err = open.Exec("INSERT INTO pet VALUES (0)")
	must(t, err)
	for n := 1; n <= 3; n++ {
		db.Do("INSERT INTO pet VALUES (1)")
		s.Kill(t)
		if _, err := db.Exec("SELECT"); err == nil {
			t.Error("a killed server responds")
		}
		s.Restart(t)
		wantRows(t, db, n)
	}
	s.Kill(t)
	s.Kill(t) // a killed server can be killed again, and the test can end without restarting it
}

// After the primary has been killed and the replica has been promoted, the replica has all confirmed rows and
// the same URL leads to it.
func TestFailoverURLFindsThePromotedReplica(t *testing.T) {
	t.Parallel()
	primary, replica := StartWithReplica(t, true)
	url := FailoverURL(replica, primary)
	db := Connect(t, url)
	db.Do("CREATE TABLE pet (id int)")
	for range 50 {
		db.Do("INSERT INTO pet VALUES (1)")
	}
	primary.Kill(t)
	replica.Promote(t)
	db = Connect(t, url)
	wantRows(t, db, 50)
	db.Do("INSERT INTO pet VALUES (2)")
}

func TestFailedStartSaysWhy(t *testing.T) {
	t.Parallel()
	s, err := newServer("shared_buffers=cats")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(s.data) })
	if err := s.startOnFreePort(); err == nil || !strings.Contains(err.Error(), "cats") {
		t.Errorf("the error is %v", err)
	}
}

// A server fails to start if its port is taken. It must not mistake the other server on this port for itself.
func TestTakenPortIsAnError(t *testing.T) {
	t.Parallel()
	first, second := Start(t), Start(t)
	second.Stop(t)
	second.port = first.port
	if err := second.start(); err == nil || !strings.Contains(err.Error(), "could not bind") {
		t.Errorf("the error is %v", err)
	}
}

func TestFindProgramsTakesTheNewest(t *testing.T) {
	t.Setenv("PATH", "")
	dir := t.TempDir()
	if _, err := findPrograms(filepath.Join(dir, "*", "bin")); err == nil || !strings.Contains(err.Error(), "make test") {
		t.Errorf("without PostgreSQL, the error is %v", err)
	}
	for _, version := range []string{"9.6", "15", "17"} {
		bin := filepath.Join(dir, version, "bin")
		must(t, os.MkdirAll(bin, 0o700))
		must(t, os.WriteFile(filepath.Join(bin, "initdb"), nil, 0o700))
	}
	if bin, err := findPrograms(filepath.Join(dir, "*", "bin")); bin != filepath.Join(dir, "17", "bin") {
		t.Errorf("found %s, %v", bin, err)
	}
}
