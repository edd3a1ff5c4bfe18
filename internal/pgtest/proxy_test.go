package pgtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// throughProxy creates a database with one table. It returns a proxy for this database, a connection through
// the proxy and a direct connection.
func throughProxy(t *testing.T) (p *Proxy, through, direct *pgx.Conn) {
	t.Helper()
	url := Shared(t).NewDatabase(t)
	direct = connect(t, url)
	execute(t, direct, "CREATE TABLE pet (id int)")
	p = StartProxy(t, url)
	return p, connect(t, p.URL()), direct
}

func TestProxyDelay(t *testing.T) {
	t.Parallel()
	p, conn, _ := throughProxy(t)
	const delay = 50 * time.Millisecond
	p.Delay(delay)
	begin := time.Now()
	execute(t, conn, "SELECT")
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("a round trip took %v", took)
	}
	p.Delay(time.Hour)
	result := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "SELECT")
		result <- err
	}()
	select {
	case err := <-result:
		t.Fatalf("a response arrived through a silent network: %v", err)
	case <-time.After(delay):
	}
	p.Heal()
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// commit inserts a row through the proxy and expects the connection to break during COMMIT.
func commit(t *testing.T, conn *pgx.Conn, disconnected <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stuckTimeout)
	defer cancel()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "INSERT INTO pet VALUES ($1)", 1); err != nil {
		t.Fatal(err)
	}
	var pgErr *pgconn.PgError
	if err := tx.Commit(ctx); err == nil || errors.As(err, &pgErr) || ctx.Err() != nil {
		t.Errorf("COMMIT returned %v", err)
	}
	<-disconnected
}

func TestCutBeforeLosesTheCommit(t *testing.T) {
	t.Parallel()
	p, conn, direct := throughProxy(t)
	commit(t, conn, p.CutBefore(IsCommit))
	// The LOCK waits until the other transaction has been rolled back.
	execute(t, direct, "BEGIN; LOCK TABLE pet; COMMIT")
	if n := queryInt(t, direct, "SELECT count(*) FROM pet"); n != 0 {
		t.Errorf("%d rows, want none", n)
	}
	expectNextCommit(t, p)
}

func TestCutAfterDeliversTheCommit(t *testing.T) {
	t.Parallel()
	p, conn, direct := throughProxy(t)
	commit(t, conn, p.CutAfter(IsCommit))
	if n := queryInt(t, direct, "SELECT count(*) FROM pet"); n != 1 { // the row must be there immediately
		t.Errorf("%d rows, want 1", n)
	}
	expectNextCommit(t, p)
}

func TestCutLateDeliversTheCommitWhenReleased(t *testing.T) {
	t.Parallel()
	p, conn, direct := throughProxy(t)
	disconnected, release := p.CutLate(IsCommit)
	commit(t, conn, disconnected)
	if n := queryInt(t, direct, "SELECT count(*) FROM pet"); n != 0 {
		t.Errorf("%d rows before the COMMIT was delivered, want none", n)
	}
	release()
	release() // a second call must do nothing
	eventually(t, "the row is committed", func() bool { return queryInt(t, direct, "SELECT count(*) FROM pet") == 1 })
	expectNextCommit(t, p)
}

// The proxy stops even if a delayed COMMIT was never released.
func TestProxyClosesWithAnUnreleasedCommit(t *testing.T) {
	t.Parallel()
	p, conn, _ := throughProxy(t)
	disconnected, _ := p.CutLate(IsCommit)
	commit(t, conn, disconnected)
}

// expectNextCommit expects the next COMMIT to succeed, because a fault affects only one message.
func expectNextCommit(t *testing.T, p *Proxy) {
	t.Helper()
	conn := connect(t, p.URL())
	execute(t, conn, "BEGIN")
	execute(t, conn, "INSERT INTO pet VALUES (2)")
	execute(t, conn, "COMMIT")
}

func TestIsCommit(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		"Q\x00\x00\x00\x0bcommit\x00":             true,
		"Q\x00\x00\x00\x0cCOMMIT;\x00":            true,
		"Q\x00\x00\x00\x10select commit\x00":      false,
		"P\x00\x00\x00\x0e\x00commit\x00\x00\x00": false,
		"X\x00\x00\x00\x04":                       false,
		"Q":                                       false,
	} {
		if got := IsCommit([]byte(message)); got != want {
			t.Errorf("IsCommit(%q) is %v", message, got)
		}
	}
}
