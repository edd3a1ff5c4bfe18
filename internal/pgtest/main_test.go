package pgtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/leaktest"
)

// TestMain checks that no goroutine is left after the tests, although the shared server is still running. If
// PGTEST_VICTIM is set, it calls runVictim instead.
func TestMain(m *testing.M) {
	if os.Getenv("PGTEST_VICTIM") != "" {
		if err := runVictim(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leaktest.Main(m)
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stuckTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stuckTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// queryInt runs a query that selects one number and returns the number.
func queryInt(t *testing.T, conn *pgx.Conn, query string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stuckTimeout)
	defer cancel()
	var number int
	if err := conn.QueryRow(ctx, query).Scan(&number); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return number
}

// eventually waits until condition returns true. The test fails if that takes longer than stuckTimeout.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(stuckTimeout); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not met after %v: %s", stuckTimeout, what)
		}
	}
}
