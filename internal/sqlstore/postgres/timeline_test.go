package postgres

import (
	"strings"
	"sync"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore/engine"
)

// timelineHarness has a store that reaches a primary and its replica through a proxy with one address, as
// behind a load balancer or a virtual IP address.
type timelineHarness struct {
	*faultHarness
	primary, replica *pgtest.Server

	mu       sync.Mutex
	reported []string
}

func newTimelineHarness(t *testing.T) *timelineHarness {
	t.Helper()
	h := &timelineHarness{}
	h.primary, h.replica = pgtest.StartWithReplica(t, false)
	proxy := pgtest.StartProxy(t, h.primary.URL())
	store := open(t, proxy.URL(), Options{OnLostHistory: func(err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.reported = append(h.reported, err.Error())
	}})
	h.faultHarness = &faultHarness{T: t, store: store, proxy: proxy, direct: pgtest.Connect(t, h.primary.URL())}
	return h
}

// promote waits until the replica has everything that the primary has, and promotes it. The primary keeps running.
func (h *timelineHarness) promote() {
	h.Helper()
	h.direct.Await("the replica to catch up", "SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication")
	h.replica.Promote(h.T)
}

// moveTo makes the store's address point to another server and closes all connections.
func (h *timelineHarness) moveTo(server *pgtest.Server) {
	h.proxy.Redirect(server)
	h.proxy.Cut()
	h.proxy.Heal()
}

// refuses checks that writes, reads and publications fail because the store refuses its server, and that the store is
// not ready.
func refuses(t *testing.T, store *node) {
	t.Helper()
	for what, err := range map[string]error{
		"a write":       store.Write(t.Context(), adding("refused")),
		"a read":        store.Read(t.Context(), listing),
		"a publication": store.Publish(t.Context()),
	} {
		wantUnavailable(t, what, err)
		if kind := engine.KindOf(err); kind != engine.LostHistory {
			t.Errorf("%s: %v is %s", what, err, kind)
		}
	}
	wantReady(t, store, engine.LostHistory)
}

// A failover is undone: after the nodes have worked with the new primary, their address points to the old one again.
// Everything that was written since the failover is missing there, and its ids would be assigned again. The nodes that
// know the new primary refuse the old one. As soon as the address points to the new primary again, the nodes work.
func TestServerOnLostTimelineIsRefused(t *testing.T) {
	t.Parallel()
	h := newTimelineHarness(t)
	h.works("before")
	h.promote()
	h.moveTo(h.replica)
	h.works("on timeline 2")
	h.moveTo(h.primary)
	refuses(t, h.store)
	refuses(t, h.store)
	if len(h.reported) != 1 || !strings.Contains(h.reported[0], "the server is on timeline 1, but this store has been on timeline 2") {
		t.Errorf("reported %q", h.reported)
	}
	if n := measured(t, h.store, "animalstore_postgres_timeline", ""); n != 2 {
		t.Errorf("the highest timeline is %v, want 2", n)
	}
	if n := measured(t, h.store, "animalstore_postgres_timeline_refusals_total", ""); n < 6 {
		t.Errorf("%v refusals were counted, want at least 6", n)
	}
	checkOutcomes(t, h.direct, map[string]error{"before": nil})
	h.moveTo(h.replica)
	h.works("after")
	wantReady(t, h.store, "")
	checkOutcomes(t, pgtest.Connect(t, h.replica.URL()), map[string]error{"before": nil, "on timeline 2": nil, "after": nil})
}

// Until the old primary is fenced, it keeps its connections after a failover. As soon as a node has seen the new
// timeline, it stops using these connections, because writes to the old primary will be lost.
func TestConnectionsToAnEarlierTimelineAreDropped(t *testing.T) {
	t.Parallel()
	h := newTimelineHarness(t)
	h.works("before")
	fillPool(t, h.store)
	h.promote()
	h.proxy.Redirect(h.replica) // existing connections stay open
	conn, err := h.store.Connect(t.Context())
	must(t, err)
	conn.Close()
	for range defaultMaxConns {
		write(t, h.store, executing("SELECT 1"))
	}
	h.works("after")
	checkOutcomes(t, pgtest.Connect(t, h.replica.URL()), map[string]error{"before": nil, "after": nil})
	checkOutcomes(t, h.direct, map[string]error{"before": nil})
}

// If the server's address suddenly points to another cluster, a running node refuses that cluster. The other cluster
// does not know which ids have been assigned. A restarted node uses the other cluster, because the operator may have
// intended the change.
func TestServerOfAnotherClusterIsRefusedUntilRestart(t *testing.T) {
	t.Parallel()
	other := pgtest.StartAnotherCluster(t)
	must(t, createDatabase(other.URL()))
	h := newTimelineHarness(t)
	h.works("before")
	h.moveTo(other)
	refuses(t, h.store)
	if len(h.reported) != 1 || !strings.Contains(h.reported[0], "another cluster") {
		t.Errorf("reported %q", h.reported)
	}
	must(t, createDatabase(h.proxy.URL()))
	h.moveTo(h.primary)
	h.works("after")
}

// Some servers that speak PostgreSQL's protocol, and some providers, do not offer the functions that show the
// timeline. The store works without them.
func TestServerWithoutTimelinesWorks(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	must(t, createDatabase(server.URL()))
	direct := pgtest.Connect(t, server.URL())
	direct.Do("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC", "CREATE ROLE limited LOGIN",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO limited",
		"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO limited")
	url := strings.Replace(server.URL(), "animalstore@", "limited@", 1)
	store := open(t, url, Options{})
	write(t, store, adding("lamp"))
	wantReady(t, store, "")
	if n := measured(t, store, "animalstore_postgres_timeline", ""); n != 0 {
		t.Errorf("the timeline is %v, want 0", n)
	}
}

// A node refuses a server on a lower timeline than one that it has seen, and a server of another cluster.
func TestTimelinesMustNotFall(t *testing.T) {
	t.Parallel()
	guard := timelineGuard{}
	for _, step := range []struct {
		server  timeline
		refused bool
	}{
		{server: timeline{}},
		{server: timeline{"b", 1}},
		{server: timeline{"b", 2}},
		{server: timeline{}},
		{server: timeline{"b", 1}, refused: true},
		{server: timeline{"c", 3}, refused: true},
		{server: timeline{"b", 2}},
		{server: timeline{"b", 3}},
		{server: timeline{"b", 2}, refused: true},
	} {
		if err := guard.observe(step.server); isLostTimeline(err) != step.refused {
			t.Errorf("%+v: got %v", step, err)
		}
	}
}
