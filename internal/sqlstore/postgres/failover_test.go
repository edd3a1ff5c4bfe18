package postgres

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore/engine"
)

// The server is killed or stopped and then restarted while writes are running. Every successful write is
// stored exactly once.
func TestServerRestartLosesNoWrite(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	w := startWriters(8, open(t, server.URL(), Options{}))
	defer w.stop()
	w.awaitMore(t, 100)
	for range 2 {
		server.Kill(t)
		server.Restart(t)
		w.awaitMore(t, 100)
		server.Restart(t)
		w.awaitMore(t, 100)
	}
	checkOutcomes(t, pgtest.Connect(t, server.URL()), w.stop())
}

// After a failover, all pooled connections belong to a server that has become read-only. A write or a readiness check
// may notice this first. In both cases, the store discards all of these connections, and no write fails once the new
// primary is available.
func TestDemotedServerIsReplacedByThePromotedOne(t *testing.T) {
	t.Parallel()
	for _, noticedBy := range []string{"a write", "readiness"} {
		t.Run(noticedBy, func(t *testing.T) {
			t.Parallel()
			primary, replica := pgtest.StartWithReplica(t, false)
			store := open(t, pgtest.FailoverURL(primary, replica), Options{})
			fillPool(t, store)
			wantReady(t, store, "")
			demote(t, store, primary)
			if noticedBy == "readiness" {
				awaitReadOnly(t, store) // checked over a pooled connection
				awaitReadOnly(t, store) // checked over a new connection
			}
			replica.Promote(t)
			if noticedBy == "readiness" {
				store.timeout = ample
				wantReady(t, store, "")
			}
			write(t, store, adding("after"))
			checkOutcomes(t, pgtest.Connect(t, replica.URL()), map[string]error{"after": nil})
		})
	}
}

// demote makes a server read-only after its replica has caught up. Each session applies the setting on its
// own, so demote waits until all sessions of the store have applied it. The store's pool must be full.
func demote(t *testing.T, store *node, primary *pgtest.Server) {
	t.Helper()
	old := pgtest.Connect(t, primary.URL())
	old.Do("CHECKPOINT")
	old.Await("the replica to catch up", "SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication")
	old.Do("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
	for range defaultMaxConns {
		conn, err := store.pool.Acquire(t.Context())
		must(t, err)
		// The connection must not be released earlier, because the next Acquire would return it again.
		defer conn.Release()
		pgtest.Await(t, "a connection to be read-only", func() (readOnly bool) {
			must(t, conn.QueryRow(t.Context(), "SELECT current_setting('default_transaction_read_only') = 'on'").Scan(&readOnly))
			return readOnly
		})
	}
}

// awaitReadOnly checks that the store is not ready because its server is read-only.
func awaitReadOnly(t *testing.T, store *node) {
	t.Helper()
	awaitNotReady(t, store, engine.ReadOnly)
}

// awaitNotReady checks that the engine is not ready because of one of the given kinds of error. On a busy machine, the
// server may not respond in time, so the check is repeated with more time.
func awaitNotReady(t *testing.T, store *node, kinds ...engine.Kind) {
	t.Helper()
	var err error
	for timeout := shortTimeout; timeout <= 2*ample; timeout *= 2 {
		store.timeout = timeout
		if err = store.Ready(t.Context()); err != nil && slices.Contains(kinds, engine.KindOf(err)) {
			return
		}
	}
	t.Fatalf("readiness says %v, want %q", err, kinds)
}

// fillPool makes a store open as many connections as its pool allows.
func fillPool(t *testing.T, store *node) {
	t.Helper()
	var inside, all sync.WaitGroup
	inside.Add(defaultMaxConns)
	for range defaultMaxConns {
		all.Go(func() {
			once := sync.OnceFunc(func() { inside.Done(); inside.Wait() })
			err := store.Read(t.Context(), func(tx *engine.Tx) error {
				err := listing(tx)
				once()
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := store.pool.Stat().TotalConns(); n != defaultMaxConns {
		t.Fatalf("%d connections are open, want %d", n, defaultMaxConns)
	}
}

// While the synchronous replica is down, a COMMIT waits for the replica, and no reader sees a write that a
// failover could undo. If an operator cancels this wait on the server, the write becomes visible on the
// primary. The write is still not reported as done.
func TestCommittedMeansReplicated(t *testing.T) {
	t.Parallel()
	primary, replica := pgtest.StartWithReplica(t, true)
	h := newFaultHarness(t, primary.URL())
	h.works("before")
	replica.Stop(t)
	const waiting = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep' AND query ILIKE 'commit'"
	sent := make(chan struct{})
	markSent := sync.OnceFunc(func() { close(sent) })
	h.proxy.CutBefore(func(message []byte) bool { // this function only observes messages and never cuts the connection
		if pgtest.IsCommit(message) {
			markSent()
		}
		return false
	})
	outcomes := map[string]error{"before": nil, "waits": h.startWriteWithShortTimeout("waits", sent)(), "after": nil}
	h.direct.Await("the COMMIT to wait for the replica", "SELECT count(*) = 1 "+waiting)
	h.setTimeout(ample)
	if n, err := h.read("waits"); err != nil || n != 0 {
		t.Errorf("a write that the replica lacks is visible: %d, %v", n, err)
	}
	// Do not use a group, because it would send its rows together with its COMMIT, and resolveCommit could overtake
	// both.
	h.alone = true
	disconnected, release := h.proxy.CutLate(pgtest.IsCommit)
	outcome := h.startWriteWithShortTimeout("lost", disconnected)
	release()
	h.direct.Await("both COMMITs to wait for the replica", "SELECT count(*) = 2 "+waiting)
	h.direct.Do("SELECT pg_cancel_backend(pid) " + waiting)
	h.direct.Await("the write to become visible", "SELECT EXISTS (SELECT FROM things WHERE name = 'lost')")
	outcomes["lost"] = outcome()
	for _, name := range []string{"waits", "lost"} {
		if outcomes[name] == nil {
			t.Errorf("the write %s was reported as done without the replica", name)
		}
	}
	replica.Restart(t)
	h.direct.Await("the replica to follow", "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
	h.works("after")
	checkOutcomes(t, h.direct, outcomes)
}

// A server becomes silent, as after a power failure, and another server takes over. Requests that are waiting
// for a response time out. Later requests do not try the remaining old connections one by one.
func TestSilentServerCostsOnePing(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	first, second := pgtest.StartProxy(t, database), pgtest.StartProxy(t, database)
	both := strings.Replace(first.URL(), first.Address(), first.Address()+","+second.Address(), 1)
	store := open(t, both+"&connect_timeout=1", Options{})
	h := &faultHarness{T: t, store: store, direct: pgtest.Connect(t, database)}
	fillPool(t, store)
	first.Delay(time.Hour)
	h.setTimeout(shortTimeout)
	before := store.epoch.Load()
	// This write may fail, because it is the first one after the server became silent.
	outcomes := map[string]error{"first": h.write("first"), "second": nil, "third": nil}
	// No connection from an earlier epoch is used again.
	pgtest.Await(t, "an epoch to start", func() bool { return store.epoch.Load() > before })
	h.works("second")
	h.works("third")
	if got := store.epoch.Load(); got != before+1 {
		t.Errorf("%d epochs have started, want 1", got-before)
	}
	first.Heal() // messages that the proxy has held back may arrive now
	checkOutcomes(t, h.direct, outcomes)
}
