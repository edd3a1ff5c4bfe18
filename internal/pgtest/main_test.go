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

// TestMain expects that no goroutine is left, although the shared server still runs.
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

// queryInt returns the number that a query selects.
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

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(stuckTimeout); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not met after %v: %s", stuckTimeout, what)
		}
	}
}
