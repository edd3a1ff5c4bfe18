package sqlstore

import (
	"context"
	"strings"
	"sync"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
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
	store := open(t, proxy.URL(), Options{OnRefusedServer: func(err error) {
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
func refuses(t *testing.T, store *Store) {
	t.Helper()
	for what, err := range map[string]error{
		"a write":       store.Write(t.Context(), shop.Writing{}, adding("refused")),
		"a read":        store.Read(t.Context(), shop.Reading{}, listing),
		"a publication": store.Publish(t.Context()),
	} {
		wantUnavailable(t, what, err)
		if kind := classify(err); kind != lostHistory {
			t.Errorf("%s: %v is %s", what, err, kind)
		}
	}
	wantReady(t, store, "lost a part of its history")
}

// A failover is undone: after the nodes have worked with the new primary, their address points to the old one again.
// Everything that was written since the failover is missing there, and its ids would be assigned again. The nodes that
// know the new primary refuse the old one. They also record this on the old primary, so that every node that starts
// later refuses it, too. As soon as the address points to the new primary again, the nodes work.
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
	err := createStore(h.primary.URL())
	if err == nil || !strings.HasPrefix(err.Error(), "cannot open the database: the server is on timeline 1,") {
		t.Errorf("a new node on the lost timeline: %v", err)
	}
	conn, err := OpenReadOnly(t.Context(), h.primary.URL())
	must(t, err)
	defer conn.Close()
	if !isLostTimeline(conn.LostTimeline) {
		t.Errorf("a tool that opens the lost timeline finds %v", conn.LostTimeline)
	}
	h.moveTo(h.replica)
	h.works("after")
	wantReady(t, h.store, "")
	checkOutcomes(t, pgtest.Connect(t, h.replica.URL()), map[string]error{"before": nil, "on timeline 2": nil, "after": nil})
}

// A node that was started on the old primary cannot know that writes are missing there. It learns this from the
// record of another node, and then refuses the server as well.
func TestNodeLearnsOfALostTimelineFromOtherNodes(t *testing.T) {
	t.Parallel()
	h := newTimelineHarness(t)
	h.promote()
	h.moveTo(h.replica)
	h.works("on timeline 2")
	late := open(t, h.primary.URL(), Options{})
	write(t, late, adding("late"))
	wantReady(t, late, "")
	h.moveTo(h.primary)
	refuses(t, h.store)
	wantReady(t, late, "lost a part of its history")
	refuses(t, late)
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
	conn, err := h.store.Conn(t.Context())
	must(t, err)
	conn.Close()
	for range pgMaxConns {
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
	must(t, createStore(other.URL()))
	h := newTimelineHarness(t)
	h.works("before")
	h.moveTo(other)
	refuses(t, h.store)
	if len(h.reported) != 1 || !strings.Contains(h.reported[0], "another cluster") {
		t.Errorf("reported %q", h.reported)
	}
	must(t, createStore(h.proxy.URL()))
	h.moveTo(h.primary)
	h.works("after")
}

// Some servers that speak PostgreSQL's protocol, and some providers, do not offer the functions that show the
// timeline. The store works without them.
func TestServerWithoutTimelinesWorks(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	must(t, createStore(server.URL()))
	direct := pgtest.Connect(t, server.URL())
	direct.Do("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC", "CREATE ROLE clerk LOGIN",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk",
		"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO clerk")
	url := strings.Replace(server.URL(), "animalstore@", "clerk@", 1)
	store := open(t, url, Options{})
	write(t, store, adding("Rex"))
	wantReady(t, store, "")
	if n := measured(t, store, "animalstore_postgres_timeline", ""); n != 0 {
		t.Errorf("the timeline is %v, want 0", n)
	}
	conn, err := OpenReadOnly(context.Background(), url)
	must(t, err)
	conn.Close()
	if conn.LostTimeline != nil {
		t.Error(conn.LostTimeline)
	}
}

// A recorded timeline that came with a dump or a copy from another cluster is ignored.
func TestRecordOfAnotherClusterIsIgnored(t *testing.T) {
	t.Parallel()
	guard := timelineGuard{}
	for _, step := range []struct {
		server, recorded timeline
		refused          bool
	}{
		{server: timeline{}, recorded: timeline{"a", 9}},
		{server: timeline{"b", 1}, recorded: timeline{"a", 9}},
		{server: timeline{"b", 2}},
		{server: timeline{}},
		{server: timeline{"b", 1}, refused: true},
		{server: timeline{"c", 3}, refused: true},
		{server: timeline{"b", 2}, recorded: timeline{"b", 3}, refused: true},
		{server: timeline{"b", 2}, refused: true},
		{server: timeline{"b", 3}, recorded: parseTimeline(timeline{"b", 3}.String())},
		{server: timeline{"b", 3}, recorded: parseTimeline("nonsense")},
	} {
		if err := guard.observe(step.server, step.recorded); isLostTimeline(err) != step.refused {
			t.Errorf("%+v: got %v", step, err)
		}
	}
}
