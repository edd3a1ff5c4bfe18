package sqlite

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"

	"animalstore/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func openNew(t *testing.T) *Conn {
	t.Helper()
	c, err := Open("file:"+filepath.ToSlash(filepath.Join(t.TempDir(), "a.db")), "journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func prepare(t *testing.T, c *Conn, query string) *Stmt {
	t.Helper()
	s, err := c.Prepare(query)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestValues(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	if err := c.run("CREATE TABLE things (id INTEGER PRIMARY KEY, n INTEGER, r REAL, text TEXT, blob BLOB) STRICT"); err != nil {
		t.Fatal(err)
	}
	insert := prepare(t, c, "INSERT INTO things (n, text, blob) VALUES ($1, $2, $3)")
	read := prepare(t, c, "SELECT n, text, blob, r FROM things WHERE id = $1")
	if insert.Parameters() != 3 || read.Parameters() != 1 || read.Columns() != 4 {
		t.Errorf("%d, %d parameters and %d columns", insert.Parameters(), read.Parameters(), read.Columns())
	}
	long := strings.Repeat("a long tail ", 10_000)
	for i, want := range []struct {
		n    int64
		text string
		blob []byte
	}{
		{1, "Rex", []byte{1, 2, 3}},
		{-1 << 63, "", nil},
		{1<<63 - 1, "null \x00 inside", []byte{0}},
		{0, long, []byte(long)},
		{4, "short again", []byte("after a long one")},
	} {
		err := errors.Join(insert.BindInt64(1, want.n), insert.BindText(2, want.text), insert.BindBlob(3, want.blob), insert.Run())
		if err == nil {
			err = read.BindInt64(1, int64(i+1))
		}
		if err != nil {
			t.Fatal(err)
		}
		if row, err := read.Step(); !row || err != nil {
			t.Fatalf("row %d is not there: %v", i+1, err)
		}
		if read.Kind(0) != Integer || read.Kind(1) != Text || read.Kind(2) != Blob || read.Kind(3) != Null {
			t.Errorf("row %d has kinds %d %d %d %d", i+1, read.Kind(0), read.Kind(1), read.Kind(2), read.Kind(3))
		}
		if read.Int64(0) != want.n || string(read.Bytes(1)) != want.text || !bytes.Equal(read.Bytes(2), want.blob) {
			t.Errorf("row %d is %d, %.20q, %.20q", i+1, read.Int64(0), read.Bytes(1), read.Bytes(2))
		}
		if row, err := read.Step(); row || err != nil {
			t.Errorf("there is more than row %d: %v", i+1, err)
		}
		read.Reset()
	}
	null := prepare(t, c, "SELECT ? IS NULL, 1.5")
	if err := null.BindNull(1); err != nil {
		t.Fatal(err)
	}
	if row, err := null.Step(); !row || err != nil || null.Int64(0) != 1 || null.Kind(1) != Real || null.Float64(1) != 1.5 {
		t.Errorf("NULL is none: %v", err)
	}
}

// A parameter is known by its number, wherever it stands.
func TestParameters(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	s := prepare(t, c, "SELECT $2 || '-' || $1 || '-' || $2")
	if err := errors.Join(s.BindText(1, "one"), s.BindText(2, "two")); err != nil {
		t.Fatal(err)
	}
	if row, err := s.Step(); !row || err != nil || string(s.Bytes(0)) != "two-one-two" {
		t.Errorf("it is %q (%v)", s.Bytes(0), err)
	}
	for _, query := range []string{"SELECT $2", "SELECT $0", "SELECT :name", "SELECT $1, ?1, $3", "SELECT $one", "", "-- nothing"} {
		if s, err := c.Prepare(query); err == nil {
			s.Close()
			t.Errorf("%q was taken", query)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	check := func(what string, err error, code int, words string) {
		t.Helper()
		if e, ok := errors.AsType[*Error](err); !ok || e.Code() != code || !strings.Contains(e.Error(), words) {
			t.Errorf("%s: %v, want code %d and %q", what, err, code, words)
		}
	}
	_, err := c.Prepare("SELEC 1")
	check("a slip", err, sqlite3.SQLITE_ERROR, "syntax error")
	if err := c.run("CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT UNIQUE)"); err != nil {
		t.Fatal(err)
	}
	insert := prepare(t, c, "INSERT INTO things (name) VALUES ($1)")
	if err := errors.Join(insert.BindText(1, "Rex"), insert.Run()); err != nil {
		t.Fatal(err)
	}
	check("a second Rex", insert.Run(), sqlite3.SQLITE_CONSTRAINT_UNIQUE, "things.name")
	if err := errors.Join(insert.BindText(1, "Mia"), insert.Run()); err != nil {
		t.Errorf("after a failure: %v", err)
	}
	_, err = Open("file:" + filepath.ToSlash(filepath.Join(t.TempDir(), "nowhere", "a.db")))
	check("no folder", err, sqlite3.SQLITE_CANTOPEN, "unable to open")
	_, err = Open("file:"+filepath.ToSlash(filepath.Join(t.TempDir(), "a.db")), "journal_mode(WAL")
	check("a setting that is none", err, sqlite3.SQLITE_ERROR, "incomplete input")
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	c := openNew(t)
	c.Interrupt() // nothing is running
	endless := prepare(t, c, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < $1")
	if err := endless.BindInt64(1, 2); err != nil {
		t.Fatal(err)
	}
	if row, err := endless.Step(); !row || err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := context.AfterFunc(ctx, c.Interrupt)
	defer stop()
	go cancel()
	_, err := endless.Step()
	if e, ok := errors.AsType[*Error](err); !ok || e.Code() != sqlite3.SQLITE_INTERRUPT {
		t.Fatalf("it ended with %v", err)
	}
	endless.Reset()
	if err := c.run("SELECT 1"); err != nil {
		t.Errorf("the next statement: %v", err)
	}
}
