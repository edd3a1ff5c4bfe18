package postgres

import (
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore/engine"
)

// Before a read that executes only one query, an idle connection is not pinged, because the ping would take another
// round trip. Instead, the query first gets only as much time as a ping. If that is too short, the query is cancelled
// and executed again.
func TestSingleQueryDoesNotPing(t *testing.T) {
	t.Parallel()
	proxy := pgtest.StartProxy(t, newDatabase(t))
	store := open(t, proxy.URL()+"&pool_max_conns=2", Options{})
	single := func(fn func(*engine.Tx) error) error {
		_, err := store.Engine.Read(t.Context(), engine.ReadOptions{Single: true}, fn)
		return err
	}
	for name, query := range map[string]string{"quick": "SELECT 'done'", "slow": "SELECT 'done' FROM pg_sleep(1.5)"} {
		fn := func(r *engine.Tx) error {
			_, found, err := engine.One(r, engine.ScanValue[string], query)
			if err == nil && !found {
				t.Errorf("the %s query selected nothing", name)
			}
			return err
		}
		// The first read prepares the statement, so that the next one takes only one round trip.
		must(t, single(fn))
		for _, conn := range store.pool.AcquireAllIdle(t.Context()) {
			stateOf(conn.Conn()).lastUsed = time.Now().Add(-time.Hour)
			conn.Release()
		}
		before := proxy.RoundTrips()
		must(t, single(fn))
		if n := proxy.RoundTrips() - before; n != 1 && name == "quick" {
			t.Errorf("a quick query took %d round trips, want 1", n)
		}
	}
}

// A read may announce one query but execute two. It still sees only one snapshot.
func TestSecondQueryReadsTheSameSnapshot(t *testing.T) {
	t.Parallel()
	store := open(t, newDatabase(t), Options{})
	const count = "SELECT count(*) FROM things"
	stamp, err := store.Engine.Read(t.Context(), engine.ReadOptions{Single: true, Stamped: true}, func(r *engine.Tx) error {
		query := func() (n int64, err error) {
			n, _, err = engine.One(r, engine.ScanValue[int64], count)
			return n, err
		}
		first, err := query()
		if err != nil {
			return err
		}
		must(t, store.Write(t.Context(), adding("lamp")))
		second, err := query()
		if err == nil && first != second {
			t.Errorf("there were %d things and then %d", first, second)
		}
		return err
	})
	if err != nil || stamp.Time.IsZero() {
		t.Errorf("the stamp is %+v, %v", stamp, err)
	}
}
