package pgtest

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// throughProxy creates a database with one table. It returns a proxy for this database, a connection through
// the proxy and a direct connection.
func throughProxy(t *testing.T) (p *Proxy, through, direct *DB) {
	t.Helper()
	url := Shared(t).NewDatabase(t)
	p = StartProxy(t, url)
	through, direct = Connect(t, p.URL()), Connect(t, url)
	through.Do("CREATE TABLE pet (id int)")
	return p, through, direct
}

func TestProxyDelay(t *testing.T) {
	t.Parallel()
	p, through, _ := throughProxy(t)
	const delay = 50 * time.Millisecond
	p.Delay(delay)
	begin := time.Now()
	through.Do("SELECT")
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("a round trip took %v", took)
	}
	p.Delay(time.Hour)
	result := make(chan error, 1)
	go func() {
		_, err := through.ExecContext(t.Context(), "SELECT")
		result <- err
	}()
	select {
	case err := <-result:
		t.Fatalf("a response arrived through a silent network: %v", err)
	case <-time.After(delay):
	}
	p.Heal()
	must(t, <-result)
}

// commit inserts a row and returns the error from COMMIT.
func commit(t *testing.T, db *DB) error {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	_, err = tx.ExecContext(t.Context(), "INSERT INTO pet VALUES (1)")
	must(t, err)
	return tx.Commit()
}

func TestLostCommitIsDeliveredOrNot(t *testing.T) {
	t.Parallel()
	for name, cut := range LostCommits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, through, direct := throughProxy(t)
			disconnected, release := cut(p, IsCommit)
			var pgErr *pgconn.PgError
			if err := commit(t, through); err == nil || errors.As(err, &pgErr) {
				t.Errorf("COMMIT returned %v, want a broken connection", err)
			}
			AwaitSignal(t, "the client to be disconnected", disconnected)
			wantRows(t, direct, map[string]int{"after": 1}[name])
			release()
			release()                                  // a second call must do nothing
			direct.Do("BEGIN; LOCK TABLE pet; COMMIT") // waits for the end of the other transaction
			wantRows(t, direct, map[string]int{"after": 1, "late": 1}[name])
			must(t, commit(t, through)) // a fault affects only one message
		})
	}
}

func wantRows(t *testing.T, db *DB, want int) {
	t.Helper()
	if n := Value[int](db, "SELECT count(*) FROM pet"); n != want {
		t.Errorf("%d rows, want %d", n, want)
	}
}

// The proxy stops even if a delayed COMMIT was never released.
func TestProxyClosesWithAnUnreleasedCommit(t *testing.T) {
	t.Parallel()
	p, through, _ := throughProxy(t)
	disconnected, _ := p.CutLate(IsCommit)
	if err := commit(t, through); err == nil {
		t.Error("COMMIT succeeded")
	}
	AwaitSignal(t, "the client to be disconnected", disconnected)
}

func TestIsCommit(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		"Q\x00\x00\x00\x0bcommit\x00":             true,
		"Q\x00\x00\x00\x0cCOMMIT;\x00":            true,
		"Q\x00\x00\x00\x10select commit\x00":      false,
		"P\x00\x00\x00\x0e\x00commit\x00\x00\x00": false,
		"Q": false,
	} {
		if got := IsCommit([]byte(message)); got != want {
			t.Errorf("IsCommit(%q) is %v", message, got)
		}
	}
}
