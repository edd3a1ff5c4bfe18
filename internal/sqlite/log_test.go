package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"
)

// openWriter opens a new database with one table twice: to write, and to read.
func openWriter(t *testing.T, settings ...string) (path string, writer, reader *Conn) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.db")
	writer, err := OpenWriter("file:"+filepath.ToSlash(path), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(writer.Close)
	run(t, writer, "CREATE TABLE things (id INTEGER PRIMARY KEY, data BLOB)")
	reader, err = Open("file:" + filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)
	return path, writer, reader
}

func run(t *testing.T, c *Conn, query string) {
	t.Helper()
	if err := c.run(query); err != nil {
		t.Fatal(err)
	}
}

// expect expects what a query finds.
func expect(t *testing.T, what string, c *Conn, query, want string) {
	t.Helper()
	s, err := c.Prepare(query)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if row, err := s.Step(); !row || err != nil || string(s.Bytes(0)) != want {
		t.Errorf("%s: it is %q (%v), want %q", what, s.Bytes(0), err, want)
	}
}

// copied opens what another process would find, had this one ended now.
func copied(t *testing.T, path string) *Conn {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.db")
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		if err == nil {
			err = os.WriteFile(to+end, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := Open("file:" + filepath.ToSlash(to))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A commit is in the files when it is done, whatever its size.
func TestWriterCommits(t *testing.T) {
	t.Parallel()
	path, writer, reader := openWriter(t)
	rows := 0
	for _, commit := range []struct{ rows, size int }{
		{1, 10}, {1, 3000}, {1, 0}, {40, 3000}, {14, 4000}, {15, 4000}, {16, 4000}, {1, 200_000}, {3, 70_000}, {500, 3000}, {1, 10},
	} {
		run(t, writer, "BEGIN IMMEDIATE")
		for range commit.rows {
			run(t, writer, fmt.Sprintf("INSERT INTO things (data) VALUES (randomblob(%d))", commit.size))
		}
		run(t, writer, "COMMIT")
		rows += commit.rows
		what := fmt.Sprintf("%d rows of %d bytes", commit.rows, commit.size)
		files := copied(t, path)
		for _, c := range []*Conn{writer, reader, files} {
			expect(t, what, c, "SELECT count(*) FROM things", fmt.Sprint(rows))
		}
		expect(t, what, files, "PRAGMA integrity_check", "ok")
	}
	run(t, writer, "PRAGMA wal_checkpoint(TRUNCATE)")
	run(t, writer, "INSERT INTO things (data) VALUES (randomblob(10))")
	expect(t, "after a checkpoint", copied(t, path), "SELECT count(*) FROM things", fmt.Sprint(rows+1))
}

// A transaction that does not fit into the cache stays in memory until it is done: what was undone is never written, least of all
// over what another process has committed since. Not beside other tests: all connections of a process lend each other room.
func TestWriterUndoes(t *testing.T) {
	for _, rows := range []int{12, 25, 100, 300} {
		path, writer, other := openWriter(t, "cache_size(10)", "cache_spill(1)")
		for range rows {
			run(t, writer, "INSERT INTO things (data) VALUES (zeroblob(3000))")
		}
		run(t, writer, "PRAGMA wal_checkpoint(TRUNCATE)")
		run(t, writer, "BEGIN IMMEDIATE")
		run(t, writer, "UPDATE things SET data = randomblob(3000)")
		expect(t, "meanwhile", other, "SELECT count(*) FROM things WHERE data = zeroblob(3000)", fmt.Sprint(rows))
		run(t, writer, "ROLLBACK")
		run(t, other, "UPDATE things SET data = CAST(zeroblob(2999) || 'x' AS BLOB)")
		for _, c := range []*Conn{writer, other, copied(t, path)} {
			expect(t, "after it", c, "SELECT count(*) FROM things WHERE data = CAST(zeroblob(2999) || 'x' AS BLOB)", fmt.Sprint(rows))
			expect(t, "after it", c, "PRAGMA integrity_check", "ok")
		}
	}
}

// Several may write, and any of them may copy the log to the database.
func TestWritersTakeTurns(t *testing.T) {
	t.Parallel()
	path, one, other := openWriter(t)
	another, err := OpenWriter("file:" + filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(another.Close)
	for i := range 30 {
		for _, c := range []*Conn{one, other, another} {
			run(t, c, "INSERT INTO things (data) VALUES (randomblob(9000))")
			if i%7 == 0 {
				run(t, c, "PRAGMA wal_checkpoint(RESTART)")
			}
		}
	}
	for _, c := range []*Conn{one, other, another, copied(t, path)} {
		expect(t, "after it", c, "SELECT count(*) FROM things", "90")
		expect(t, "after it", c, "PRAGMA integrity_check", "ok")
	}
}

// What is not done when a connection is closed never was.
func TestWriterIsClosed(t *testing.T) {
	t.Parallel()
	path, _, reader := openWriter(t)
	leaver, err := OpenWriter("file:"+filepath.ToSlash(path), "cache_size(10)")
	if err != nil {
		t.Fatal(err)
	}
	run(t, leaver, "INSERT INTO things (data) VALUES ('done')")
	run(t, leaver, "BEGIN IMMEDIATE")
	for range 100 {
		run(t, leaver, "INSERT INTO things (data) VALUES (randomblob(3000))")
	}
	leaver.Close()
	for _, c := range []*Conn{reader, copied(t, path)} {
		expect(t, "after it", c, "SELECT group_concat(data) FROM things", "done")
		expect(t, "after it", c, "PRAGMA integrity_check", "ok")
	}
}

// That nothing is left collected rests on settings, and all of it on the collector being there.
func TestWriterSettings(t *testing.T) {
	t.Parallel()
	_, writer, reader := openWriter(t, "synchronous(OFF)", "journal_mode(DELETE)", "cache_spill(1)")
	expect(t, "synchronous", writer, "SELECT synchronous || '' FROM pragma_synchronous", "2")
	expect(t, "journal_mode", writer, "PRAGMA journal_mode", "wal")
	expect(t, "cache_spill", writer, "SELECT cache_spill || '' FROM pragma_cache_spill", "0")
	for c, want := range map[*Conn]bool{writer: runtime.GOOS != "windows", reader: false} {
		expect(t, "the log is opened", c, "SELECT count(*) FROM things", "0")
		file, err := c.handle(func(into uintptr) int32 {
			return sqlite3.Xsqlite3_file_control(c.tls, c.db, 0, sqlite3.SQLITE_FCNTL_JOURNAL_POINTER, into)
		})
		if err != nil {
			t.Fatal(err)
		}
		methods := at[sqlite3.Tsqlite3_io_methods](at[sqlite3.Tsqlite3_file](file).FpMethods)
		if collects := methods.FxWrite == pointer(writeLog); collects != want {
			t.Errorf("the log of the writer %t is collected: %t", c == writer, collects)
		}
	}
}
