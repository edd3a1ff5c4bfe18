package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"animalstore/internal/sqlstore/engine"
)

func newFileConn(t *testing.T, pragmas ...pragma) *Conn {
	t.Helper()
	c := newConn(fileURI(filepath.Join(t.TempDir(), "test.db")), time.Second, pragmas...)
	t.Cleanup(c.Close)
	return c
}

func TestParametersAreBoundByNumber(t *testing.T) {
	t.Parallel()
	c := newFileConn(t)
	for query, want := range map[string]string{
		"SELECT $2, $1": "two one",
		"SELECT $1 || '-' || $2, $2 || '-' || $1": "one-two two-one",
		"SELECT ?, ?": "one two",
	} {
		rows, err := c.Query(t.Context(), query, []any{"one", "two"})
		must(t, err)
		var a, b string
		if !rows.Next() || rows.Scan(&a, &b) != nil || a+" "+b != want {
			t.Errorf("%s returns %q, %q (%v), want %s", query, a, b, rows.Err(), want)
		}
		rows.Close()
	}
	for _, query := range []string{"SELECT $2", "SELECT $0", "SELECT :name", "SELECT $one", "SELECT 1; SELECT 2"} {
		if _, err := c.prepare(query); err == nil {
			t.Errorf("%q was prepared", query)
		}
	}
	for _, args := range [][]any{{time.Now()}, {true}, {1.5}, {make(chan int)}, {}, {1, 2}} {
		if err := c.Exec(t.Context(), "SELECT $1", args); err == nil {
			t.Errorf("%v was accepted as $1", args)
		}
	}
	must(t, c.Exec(t.Context(), "SELECT $1", []any{int32(1)}))
}

func TestPragmaThatDoesNotHoldIsRefused(t *testing.T) {
	t.Parallel()
	memory := newConn(":memory:", 0, pragma{"journal_mode", "wal"})
	defer memory.Close()
	for c, want := range map[*Conn]string{
		newFileConn(t, pragma{"journal_mode", "nonsense"}): "cannot be changed",
		newFileConn(t, pragma{"page_size", "3"}):           "cannot be changed",
		memory:                                             `its journal mode is "memory"`,
	} {
		if err := c.Exec(t.Context(), "SELECT 1", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestContextInterruptsAStatement(t *testing.T) {
	t.Parallel()
	const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 2"
	c := newFileConn(t)
	for kind, run := range map[string]func(context.Context) error{
		"exec": func(ctx context.Context) error { return c.Exec(ctx, endless+" AND i < $1", []any{0}) },
		"query": func(ctx context.Context) error {
			return engine.EachRow(ctx, c, endless, nil, func(engine.Scanner) error { return nil })
		},
		"script": func(ctx context.Context) error { return c.Script(ctx, "SELECT 1; "+endless+" AND i < 0") },
	} {
		for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			if want == context.Canceled {
				ctx, cancel = context.WithCancel(t.Context())
				time.AfterFunc(5*time.Millisecond, cancel)
			}
			defer cancel()
			must(t, c.Exec(t.Context(), "BEGIN", nil))
			if err := run(ctx); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", kind, err, want)
			}
			must(t, c.Exec(t.Context(), "ROLLBACK", nil))
		}
	}
}

// A context that ends after its statement has finished must not interrupt the next statement.
func TestLateInterruptDoesNotReachTheNextStatement(t *testing.T) {
	t.Parallel()
	c := newFileConn(t)
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if err := c.Exec(ctx, "SELECT 1", nil); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		must(t, c.Exec(context.Background(), "SELECT 2", nil))
	}
}

func TestStatementCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newFileConn(t)
	for i := range 3 * maxStatements {
		must(t, c.Exec(t.Context(), fmt.Sprintf("SELECT %d", i), nil))
	}
	if n := len(c.statements); n > maxStatements {
		t.Errorf("%d statements are kept", n)
	}
}

func TestConnectionIsUsableAfterAnError(t *testing.T) {
	t.Parallel()
	c := newFileConn(t)
	err := c.Exec(t.Context(), "SELEC 1", nil)
	if primaryCode(err) != sqlite.ResultError || !strings.Contains(err.Error(), "syntax error") {
		t.Errorf("a slip: %v", err)
	}
	must(t, c.Exec(t.Context(), "CREATE TABLE t (name TEXT UNIQUE)", nil))
	must(t, c.Exec(t.Context(), "INSERT INTO t VALUES ('Rex')", nil))
	err = c.Exec(t.Context(), "INSERT INTO t VALUES ('Rex')", nil)
	if sqlite.ErrCode(err) != sqlite.ResultConstraintUnique || !strings.Contains(err.Error(), "t.name") {
		t.Errorf("a second Rex: %v", err)
	}
	must(t, c.Exec(t.Context(), "INSERT INTO t VALUES ('Max')", nil))
	missing := newConn(fileURI(filepath.Join(t.TempDir(), "nowhere", "a.db")), time.Second)
	if err := missing.Exec(t.Context(), "SELECT 1", nil); primaryCode(err) != sqlite.ResultCantOpen {
		t.Errorf("no folder: %v", err)
	}
}
