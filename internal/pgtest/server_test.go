package pgtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestStartAppliesSettingsAndDurableTurnsFsyncOn(t *testing.T) {
	t.Parallel()
	conn := connect(t, Start(t, append(Durable, "work_mem=5MB")...).URL())
	var got string
	err := conn.QueryRow(t.Context(), `
		SELECT concat_ws(' ', pg_encoding_to_char(encoding), datcollate, current_setting('work_mem'), current_setting('fsync'))
		FROM pg_database WHERE datname = current_database()`).Scan(&got)
	if want := "UTF8 C.UTF-8 5MB on"; err != nil || got != want {
		t.Errorf("the encoding, the collation, work_mem and fsync are %s, %v; want %s", got, err, want)
	}
}

func TestTemplateIsFilledOnceAndCopied(t *testing.T) {
	t.Parallel()
	filled := 0
	fill := func(url string) error {
		filled++
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			return err
		}
		defer conn.Close(t.Context())
		_, err = conn.Exec(t.Context(), "CREATE TABLE pet AS SELECT 1 AS id")
		return err
	}
	for range 2 {
		conn := connect(t, Shared(t).NewDatabaseFrom(t, "with_a_pet", fill))
		if n := queryInt(t, conn, "SELECT count(*) FROM pet"); n != 1 {
			t.Errorf("the copy has %d rows, want 1", n)
		}
		execute(t, conn, "INSERT INTO pet VALUES (2)")
	}
	if filled != 1 {
		t.Errorf("the template was filled %d times, want once", filled)
	}
}

func TestDatabaseIsDropped(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	var conn *pgx.Conn
	var name string
	t.Run("use", func(t *testing.T) {
		url := s.NewDatabase(t)
		conn = connect(t, url) // this connection is still open when the database is dropped
		if err := conn.QueryRow(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
			t.Fatal(err)
		}
	})
	if n := queryInt(t, connect(t, s.URL()), "SELECT count(*) FROM pg_database WHERE datname = '"+name+"'"); n != 0 {
		t.Errorf("%s still exists", name)
	}
}

// After a crash, the committed rows are present and the uncommitted rows are not.
func TestKillKeepsOnlyCommittedRows(t *testing.T) {
	t.Parallel()
	s := Start(t)
	url := s.NewDatabase(t)
	conn, open := connect(t, url), connect(t, url)
	execute(t, conn, "CREATE TABLE pet (id int)")
	execute(t, open, "BEGIN")
	execute(t, open, "INSERT INTO pet VALUES (0)")
	for id := 1; id <= 3; id++ {
		execute(t, conn, "INSERT INTO pet VALUES (1)")
		s.Kill(t)
		if _, err := conn.Exec(t.Context(), "SELECT"); err == nil {
			t.Error("a killed server responds")
		}
		s.Restart(t)
		conn = connect(t, url)
		if n := queryInt(t, conn, "SELECT count(*) FROM pet"); n != id {
			t.Errorf("%d rows after the crash, want %d", n, id)
		}
	}
	s.Kill(t)
	s.Kill(t) // a killed server can be killed again, and the test can end without restarting it
}

func TestFailedStartSaysWhy(t *testing.T) {
	t.Parallel()
	s, err := newServer("shared_buffers=cats")
	if err != nil {
		t.Fatal(err)
	}
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
		if err := os.MkdirAll(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, "initdb"), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if bin, err := findPrograms(filepath.Join(dir, "*", "bin")); bin != filepath.Join(dir, "17", "bin") {
		t.Errorf("found %s, %v", bin, err)
	}
}
