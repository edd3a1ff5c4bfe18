package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
)

func newFileConn(t *testing.T, wait time.Duration, pragmas ...pragma) *sqliteConn {
	t.Helper()
	c := newSQLiteConn(fileURI(filepath.Join(t.TempDir(), "test.db")), wait, pragmas...)
	t.Cleanup(c.close)
	return c
}

func TestParametersAreBoundByNumber(t *testing.T) {
	t.Parallel()
	c := newFileConn(t, time.Second)
	for query, want := range map[string]string{
		"SELECT $2, $1": "two one",
		"SELECT $1 || '-' || $2, $2 || '-' || $1": "one-two two-one",
		"SELECT ?, ?": "one two",
	} {
		rows, err := c.query(t.Context(), query, []any{"one", "two"})
		if err != nil {
			t.Fatal(err)
		}
		var a, b string
		if !rows.Next() || rows.Scan(&a, &b) != nil || a+" "+b != want {
			t.Errorf("%s returns %q, %q (%v), want %s", query, a, b, rows.Err(), want)
		}
		rows.Close()
	}
	for _, query := range []string{"SELECT $2", "SELECT $0", "SELECT :name", "SELECT $1, ?1, $3", "SELECT $one", "SELECT 1; SELECT 2"} {
		if _, err := c.prepare(query); err == nil {
			t.Errorf("%q was prepared", query)
		}
	}
}

func TestUnsupportedValuesAreRefused(t *testing.T) {
	t.Parallel()
	c := newFileConn(t, time.Second)
	for name, args := range map[string][]any{
		"a time": {time.Now()}, "a bool": {true}, "a float": {1.5}, "a channel": {make(chan int)}, "too few": {}, "too many": {1, 2},
	} {
		if err := c.exec(t.Context(), "SELECT $1", args); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if err := c.exec(t.Context(), "SELECT $1", []any{int32(1)}); err != nil {
		t.Errorf("after the refusals: %v", err)
	}
}

func TestValuesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	c := newFileConn(t, time.Second)
	if err := c.exec(t.Context(), "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, text TEXT, blob BLOB) STRICT", nil); err != nil {
		t.Fatal(err)
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
		if err := c.exec(t.Context(), "INSERT INTO t (id, n, text, blob) VALUES ($1, $2, $3, $4)", []any{i, want.n, want.text, want.blob}); err != nil {
			t.Fatal(err)
		}
		var n int64
		var text string
		var blob []byte
		var none any
		query := fmt.Sprintf("SELECT n, text, blob, NULL FROM t WHERE id = %d", i)
		if found, err := firstRow(t.Context(), c, query, &n, &text, &blob, &none); !found || err != nil {
			t.Fatalf("row %d is not there: %v", i, err)
		}
		if n != want.n || text != want.text || !bytes.Equal(blob, want.blob) || blob == nil || none != nil {
			t.Errorf("row %d is %d, %.20q, %.20q, %v", i, n, text, blob, none)
		}
	}
}

func TestPragmaThatDoesNotHoldIsRefused(t *testing.T) {
	t.Parallel()
	for _, p := range []pragma{{"journal_mode", "nonsense"}, {"no_such_pragma", "1"}, {"page_size", "3"}} {
		c := newFileConn(t, time.Second, p)
		if err := c.exec(t.Context(), "SELECT 1", nil); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
			t.Errorf("%v: %v", p, err)
		}
	}
	memory := newSQLiteConn(":memory:", 0, pragma{"journal_mode", "wal"})
	defer memory.close()
	if err := memory.exec(t.Context(), "SELECT 1", nil); err == nil || !strings.Contains(err.Error(), `its journal mode is "memory"`) {
		t.Errorf("WAL in memory: %v", err)
	}
}

func TestConnectionWaitsForALockOnlyForItsTimeout(t *testing.T) {
	t.Parallel()
	first := newFileConn(t, time.Second)
	second := newSQLiteConn(first.uri, 20*time.Millisecond)
	defer second.close()
	if err := first.exec(t.Context(), "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	if err := second.exec(t.Context(), "BEGIN IMMEDIATE", nil); primaryCode(err) != sqlite.ResultBusy {
		t.Errorf("got %v, want SQLITE_BUSY", err)
	}
}

const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < $1"

func TestContextInterruptsAStatement(t *testing.T) {
	t.Parallel()
	c := newFileConn(t, time.Second)
	for name, want := range map[string]error{"cancelled": context.Canceled, "deadline": context.DeadlineExceeded} {
		for _, kind := range []string{"exec", "query", "script"} {
			ctx, cancel := context.WithCancel(t.Context())
			if name == "deadline" {
				ctx, cancel = context.WithTimeout(t.Context(), 5*time.Millisecond)
			} else {
				time.AfterFunc(5*time.Millisecond, cancel)
			}
			if err := c.exec(t.Context(), "BEGIN", nil); err != nil {
				t.Fatal(err)
			}
			var err error
			switch kind {
			case "exec":
				err = c.exec(ctx, endless, []any{0})
			case "query":
				err = eachRow(ctx, c, strings.Replace(endless, "$1", "2", 1), func(Scanner) error { return nil })
			case "script":
				err = c.script(ctx, "SELECT 1; "+strings.Replace(endless, "$1", "0", 1))
			}
			if !errors.Is(err, want) {
				t.Errorf("%s, %s: got %v", kind, name, err)
			}
			if err := c.exec(context.Background(), "ROLLBACK", nil); err != nil {
				t.Errorf("ROLLBACK after an interrupted %s: %v", kind, err)
			}
			cancel()
		}
	}
}

// A context that ends after its statement has finished must not interrupt the next statement.
func TestLateInterruptDoesNotReachTheNextStatement(t *testing.T) {
	t.Parallel()
	c := newFileConn(t, time.Second)
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if err := c.exec(ctx, "SELECT 1", nil); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := c.exec(context.Background(), "SELECT 2", nil); err != nil {
			t.Fatalf("the next statement: %v", err)
		}
	}
}

func TestStatementCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newFileConn(t, time.Second)
	for i := range 3 * maxStatements {
		if err := c.exec(t.Context(), fmt.Sprintf("SELECT %d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.statements); n > maxStatements {
		t.Errorf("%d statements are kept", n)
	}
}

func TestConnectionIsUsableAfterAnError(t *testing.T) {
	t.Parallel()
	c := newFileConn(t, time.Second)
	if err := c.exec(t.Context(), "SELEC 1", nil); primaryCode(err) != sqlite.ResultError || !strings.Contains(err.Error(), "syntax error") {
		t.Errorf("a slip: %v", err)
	}
	if err := c.exec(t.Context(), "CREATE TABLE t (name TEXT UNIQUE)", nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]sqlite.ResultCode{"": sqlite.ResultOK, "Rex": sqlite.ResultOK} {
		err := c.exec(t.Context(), "INSERT INTO t (name) VALUES ($1)", []any{name})
		again := c.exec(t.Context(), "INSERT INTO t (name) VALUES ($1)", []any{name})
		if sqlite.ErrCode(err) != want || sqlite.ErrCode(again) != sqlite.ResultConstraintUnique || !strings.Contains(again.Error(), "t.name") {
			t.Errorf("%q: %v, then %v", name, err, again)
		}
	}
	missing := newSQLiteConn(fileURI(filepath.Join(t.TempDir(), "nowhere", "a.db")), time.Second)
	if err := missing.exec(t.Context(), "SELECT 1", nil); primaryCode(err) != sqlite.ResultCantOpen {
		t.Errorf("no folder: %v", err)
	}
}
