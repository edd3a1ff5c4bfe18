package pgtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// throughProxy returns a proxy before a new database with a table, and a connection by each way.
func throughProxy(t *testing.T) (p *Proxy, through, direct *pgx.Conn) {
	t.Helper()
	url := Shared(t).NewDatabase(t)
	direct = connect(t, url)
	execute(t, direct, "CREATE TABLE pet (id int)")
	p = StartProxy(t, url)
	return p, connect(t, p.URL()), direct
}

func TestProxyForwardsLargeMessages(t *testing.T) {
	t.Parallel()
	_, conn, _ := throughProxy(t)
	var length int
	text := make([]byte, 3<<20) // more than fits into any buffer on the way
	for i := range text {
		text[i] = 'x'
	}
	var back string
	if err := conn.QueryRow(t.Context(), "SELECT length($1::text), $1", string(text)).Scan(&length, &back); err != nil {
		t.Fatal(err)
	}
	if length != len(text) || back != string(text) {
		t.Errorf("%d bytes went, %d came back", length, len(back))
	}
}

func TestProxyCutAndHeal(t *testing.T) {
	t.Parallel()
	p, conn, _ := throughProxy(t)
	p.Cut()
	if _, err := conn.Exec(t.Context(), "SELECT"); err == nil {
		t.Error("a connection outlived the cut")
	}
	if _, err := pgx.Connect(t.Context(), p.URL()); err == nil {
		t.Error("a new connection was made")
	}
	p.Heal()
	execute(t, connect(t, p.URL()), "SELECT")
}

func TestProxyDelay(t *testing.T) {
	t.Parallel()
	p, conn, _ := throughProxy(t)
	const delay = 50 * time.Millisecond
	p.Delay(delay)
	begin := time.Now()
	execute(t, conn, "SELECT")
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("there and back took %v", took)
	}
	p.Delay(time.Hour)
	answered := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "SELECT")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("a silent network answered: %v", err)
	case <-time.After(delay):
	}
	p.Heal()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// commit inserts a row through the proxy; the trap must cut the COMMIT.
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
	var told *pgconn.PgError
	if err := tx.Commit(ctx); err == nil || errors.As(err, &told) || ctx.Err() != nil {
		t.Errorf("COMMIT answered %v", err)
	}
	<-disconnected
}

func TestCutBeforeLosesTheCommit(t *testing.T) {
	t.Parallel()
	p, conn, direct := throughProxy(t)
	commit(t, conn, p.CutBefore(IsCommit))
	execute(t, direct, "BEGIN; LOCK TABLE pet; COMMIT") // waits until the server has given up the other transaction
	if n := queryInt(t, direct, "SELECT count(*) FROM pet"); n != 0 {
		t.Errorf("%d rows, want none", n)
	}
	expectNextCommit(t, p)
}

func TestCutAfterDeliversTheCommit(t *testing.T) {
	t.Parallel()
	p, conn, direct := throughProxy(t)
	commit(t, conn, p.CutAfter(IsCommit))
	if n := queryInt(t, direct, "SELECT count(*) FROM pet"); n != 1 { // at once
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
		t.Errorf("%d rows before the message has come, want none", n)
	}
	release()
	release() // twice is no error
	eventually(t, "the row is there", func() bool { return queryInt(t, direct, "SELECT count(*) FROM pet") == 1 })
	expectNextCommit(t, p)
}

// TestProxyClosesWithAnUnreleasedCommit leaves the message on its way when the test ends.
func TestProxyClosesWithAnUnreleasedCommit(t *testing.T) {
	t.Parallel()
	p, conn, _ := throughProxy(t)
	disconnected, _ := p.CutLate(IsCommit)
	commit(t, conn, disconnected)
}

// expectNextCommit shows that a trap catches one commit only.
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
