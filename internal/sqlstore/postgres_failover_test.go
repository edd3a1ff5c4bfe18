package sqlstore

import (
	"database/sql"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// The server is killed or stopped and then restarted while writes are running. Every successful write is
// stored exactly once.
func TestServerRestartLosesNoWrite(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	store := open(t, server.URL(), Options{})
	w := startWriters(8, store)
	defer w.stop()
	w.awaitMore(t, 100)
	for range 2 {
		server.Kill(t)
		server.Restart(t)
		w.awaitMore(t, 100)
		server.Restart(t)
		w.awaitMore(t, 100)
	}
	outcomes := w.stop()
	direct := openDirect(t, server.URL())
	checkOutcomes(t, namesAfterLastTransaction(t, direct), outcomes)
	t.Logf("%d writes, %d of them refused", len(outcomes), onlyUnavailable(t, outcomes))
}

// After a failover, all pooled connections lead to a server that has become read-only. The store discards all
// of them, and the write that noticed the failover succeeds on the new primary.
func TestDemotedServerIsReplacedByThePromotedOne(t *testing.T) {
	t.Parallel()
	primary, replica := pgtest.StartWithReplica(t, false)
	store := open(t, pgtest.FailoverURL(primary, replica), Options{})
	fillPool(t, store)
	demote(t, store, primary)
	replica.Promote(t)

	if err := store.Write(t.Context(), adding("after")); err != nil {
		t.Error(err)
	}
	checkOutcomes(t, namesAfterLastTransaction(t, openDirect(t, replica.URL())), map[string]error{"after": nil})
}

// demote makes a server read-only after its replica has caught up. Each session applies the setting on its
// own, so demote waits until all sessions of the store have applied it. The store's pool must be full.
func demote(t *testing.T, store *Store, primary *pgtest.Server) {
	t.Helper()
	old := openDirect(t, primary.URL())
	exec(t, old, "CHECKPOINT")
	awaitRow(t, old, "the replica to catch up", "SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication")
	exec(t, old, "ALTER SYSTEM SET default_transaction_read_only = on")
	exec(t, old, "SELECT pg_reload_conf()")
	for range pgMaxConns {
		conn, err := store.engine.(*postgresEngine).pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// The connection must not be released earlier, because the next Acquire would return it again.
		defer conn.Release()
		await(t, "a connection to be read-only", func() (readOnly bool, err error) {
			err = conn.QueryRow(t.Context(), "SELECT current_setting('default_transaction_read_only') = 'on'").Scan(&readOnly)
			return readOnly, err
		})
	}
}

// While the synchronous replica is down, a COMMIT waits for the replica, and no reader sees a write that a
// failover could undo. If an operator cancels this wait on the server, the write becomes visible on the
// primary. The write is still not reported as done.
func TestCommittedMeansReplicated(t *testing.T) {
	t.Parallel()
	primary, replica := pgtest.StartWithReplica(t, true)
	proxy := pgtest.StartProxy(t, primary.URL())
	h := &faultHarness{T: t, store: open(t, proxy.URL(), Options{}), proxy: proxy, direct: openDirect(t, primary.URL())}
	h.works("before")
	replica.Stop(t)
	const waiting = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep' AND query ILIKE 'commit'"
	sent := make(chan struct{})
	markSent := sync.OnceFunc(func() { close(sent) })
	proxy.CutBefore(func(message []byte) bool { // this function only observes and cuts no connection
		if pgtest.IsCommit(message) {
			markSent()
		}
		return false
	})
	outcomes := map[string]error{"before": nil, "waits": h.startWriteWithShortBudget("waits", sent)(), "after": nil}
	if outcomes["waits"] == nil {
		t.Error("a write succeeded without the replica")
	}
	awaitRow(t, h.direct, "the COMMIT to wait for the replica", "SELECT count(*) = 1 "+waiting)
	h.engine().retryBudget = ample
	if n, err := h.read("waits"); err != nil || n != 0 {
		t.Errorf("a write that the replica lacks is visible: %d, %v", n, err)
	}
	disconnected, release := proxy.CutLate(pgtest.IsCommit)
	outcome := h.startWriteWithShortBudget("lost", disconnected)
	release()
	awaitRow(t, h.direct, "both COMMITs to wait for the replica", "SELECT count(*) = 2 "+waiting)
	exec(t, h.direct, "SELECT pg_cancel_backend(pid) "+waiting)
	awaitRow(t, h.direct, "the write to become visible", "SELECT EXISTS (SELECT FROM pets WHERE name = 'lost')")
	if outcomes["lost"] = outcome(); outcomes["lost"] == nil {
		t.Error("the write was reported as done")
	}
	replica.Restart(t)
	awaitRow(t, h.direct, "the replica to follow", "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
	h.engine().retryBudget = ample
	h.works("after")
	checkOutcomes(t, namesAfterLastTransaction(t, h.direct), outcomes)
}

func exec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// fillPool makes a store open as many connections as its pool allows.
func fillPool(t *testing.T, store *Store) {
	t.Helper()
	var inside, all sync.WaitGroup
	inside.Add(pgMaxConns)
	for range pgMaxConns {
		all.Go(func() {
			once := sync.OnceFunc(func() { inside.Done(); inside.Wait() })
			err := store.Read(t.Context(), func(tx shop.ReadTx) error {
				_, err := tx.HasPets()
				once()
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := store.engine.(*postgresEngine).pool.Stat().TotalConns(); n != pgMaxConns {
		t.Fatalf("%d connections are open, want %d", n, pgMaxConns)
	}
}

// A write to a read-only server fails with an unavailable error within a bounded time.
func TestReadOnlyServerIsUnavailable(t *testing.T) {
	t.Parallel()
	h := newFaultHarness(t)
	h.works("before")
	name := h.database()
	exec(t, h.direct, "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	h.proxy.Cut() // forces the store to open new connections
	h.proxy.Heal()
	h.engine().retryBudget = shortBudget
	err := h.write("meanwhile")
	if err == nil {
		t.Error("the write succeeded")
	}
	h.engine().retryBudget = ample
	exec(t, h.direct, "ALTER DATABASE "+name+" RESET default_transaction_read_only")
	h.works("after")
	checkOutcomes(t, namesAfterLastTransaction(t, h.direct), map[string]error{"before": nil, "meanwhile": err, "after": nil})
}

func (h *faultHarness) database() (name string) {
	h.Helper()
	if err := h.direct.QueryRowContext(h.Context(), "SELECT current_database()").Scan(&name); err != nil {
		h.Fatal(err)
	}
	return name
}

// If the server rejects the login, a write fails with an unavailable error and does not spend its budget on
// retries.
func TestRefusedConnectionFailsAtOnce(t *testing.T) {
	t.Parallel()
	h := newFaultHarness(t)
	h.works("before")
	name := h.database()
	admin := openDirect(t, pgtest.Shared(t).URL())
	exec(t, admin, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
	h.proxy.Cut()
	h.proxy.Heal()
	h.engine().retryBudget = 24 * time.Hour // the test would never end if the write were retried
	err := h.write("meanwhile")
	if err == nil {
		t.Error("the write succeeded")
	}
	h.engine().retryBudget = ample
	exec(t, admin, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
	h.works("after")
	checkOutcomes(t, namesAfterLastTransaction(t, h.direct), map[string]error{"before": nil, "meanwhile": err, "after": nil})
}

// If an operator or a timeout makes the server terminate a session during a write, the write is retried.
func TestTerminatedSessionIsRetried(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*faultHarness){
		"by an operator": func(h *faultHarness) {
			exec(h.T, h.direct, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		},
		"by a timeout": func(*faultHarness) {}, // idle_in_transaction_session_timeout ends the session
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFaultHarness(t)
			exec(t, h.direct, "ALTER DATABASE "+h.database()+" SET idle_in_transaction_session_timeout = '1s'")
			h.proxy.Cut()
			h.proxy.Heal()
			runs := 0
			err := h.store.Write(t.Context(), func(tx shop.WriteTx) error {
				if err := adding("ended")(tx); err != nil {
					return err
				}
				if runs++; runs == 1 {
					end(h)
					awaitRow(t, h.direct, "the session to end",
						"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL)")
				}
				return nil
			})
			if err != nil || runs < 2 {
				t.Errorf("%v after %d runs", err, runs)
			}
			checkOutcomes(t, namesAfterLastTransaction(t, h.direct), map[string]error{"ended": err})
		})
	}
}

// A server becomes silent, as after a power failure, and another server takes over. Requests that are waiting
// for a response time out. Later requests do not try the remaining old connections one by one.
func TestSilentServerCostsOnePing(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	first, second := pgtest.StartProxy(t, database), pgtest.StartProxy(t, database)
	hosts := hostOf(t, first) + "," + hostOf(t, second)
	store := open(t, strings.Replace(first.URL(), hostOf(t, first), hosts, 1)+"&connect_timeout=1", Options{})
	h := &faultHarness{T: t, store: store, direct: openDirect(t, database)}
	fillPool(t, store)
	first.Delay(time.Hour)
	h.engine().retryBudget = shortBudget
	before := h.engine().epoch.Load()
	// This write may fail, because it is the first one after the server has become silent.
	outcomes := map[string]error{"first": h.write("first")}
	// No connection from an earlier epoch is used again.
	if got := h.engine().epoch.Load(); got != before+1 {
		t.Errorf("%d epochs have started, want 1", got-before)
	}
	h.engine().retryBudget = ample
	for _, name := range []string{"second", "third"} {
		if outcomes[name] = h.write(name); outcomes[name] != nil {
			t.Errorf("%s: %v", name, outcomes[name])
		}
	}
	first.Heal() // delayed messages may still arrive
	checkOutcomes(t, namesAfterLastTransaction(t, h.direct), outcomes)
}

// If a server becomes silent while every connection is in use, the pool can open new connections as soon as
// the current requests have failed. It does not wait for pgx, which takes 15 seconds to close each old
// connection.
func TestSilentServerKeepsNoConnectionSlots(t *testing.T) {
	t.Parallel()
	h := newFaultHarness(t)
	fillPool(t, h.store)
	h.engine().retryBudget = shortBudget
	h.proxy.Delay(time.Hour)
	var requests sync.WaitGroup
	for range pgMaxConns {
		requests.Go(func() {
			if _, err := h.read("any"); err == nil {
				t.Error("a silent server responded")
			}
		})
	}
	requests.Wait()
	if n := h.engine().pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections are still in use", n)
	}
	h.engine().retryBudget = ample
	h.proxy.Heal()
	h.works("after")
}

func hostOf(t *testing.T, p *pgtest.Proxy) string {
	t.Helper()
	address, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	return address.Host
}
