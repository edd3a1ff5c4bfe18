// Package hatest runs the real program on PostgreSQL servers that a real Patroni manages, under load, and kills and
// freezes the leader again and again. An ordinary run of the tests does not start Patroni. This command does:
//
//	make ha-test
package hatest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/workload"
)

var (
	patroni = flag.String("patroni", "", "path of Patroni's command in its virtual environment; empty runs nothing")
	etcd    = flag.String("etcd", "etcd", "etcd's command")
	rounds  = flag.Int("rounds", 3, "how often the leader is killed and frozen")
)

func TestMain(m *testing.M) { programtest.Main(m) }

// harness runs three nodes on a cluster and puts them under load.
type harness struct {
	t       *testing.T
	cluster *cluster
	folder  *programtest.Folder
	nodes   []*programtest.Program
	load    *workload.Load
	outages []outage
}

// TestHighAvailability kills and freezes the leader under load, kills only its PostgreSQL, freezes etcd, and finally
// replaces the cluster with a server that has an old state of the store. No acknowledged write may be lost or applied
// twice, the feed must have no gaps and no repeated positions, and the nodes must refuse the old state.
func TestHighAvailability(t *testing.T) {
	if *patroni == "" {
		t.Skip("runs by hand: make ha-test")
	}
	h := newHarness(t)
	old := h.copyLeader()
	stop := h.load.Start()
	for range *rounds {
		h.inject("leader killed", true, h.killLeader)
		h.inject("leader frozen", true, h.freezeLeader)
	}
	h.inject("leader frozen, continues early", true, h.freezeLeaderBriefly)
	h.inject("PostgreSQL killed", true, h.killPostgres)
	h.inject("process of PostgreSQL killed", true, h.killCheckpointer)
	h.inject("etcd frozen", false, h.freezeEtcd)
	h.inject("old state brought back", false, func(*member) { h.bringBack(old) })
	stop()
	for i := range h.outages {
		for node := range h.nodes {
			o := &h.outages[i]
			o.pauses = append(o.pauses, h.load.LongestPause(node, o.since, o.until))
		}
	}
	h.load.Check()
	if n := h.load.Unanswered.Load(); n > 0 {
		t.Errorf("%d requests got no response", n)
	}
	t.Log(h.folder.MustRun("check").Stderr)
	for _, node := range h.nodes {
		node.Stop()
	}
	fmt.Print(table(h.outages))
	fmt.Println(h.load.LongestRequests())
}

// newHarness starts the cluster and three nodes, and creates the load.
func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{t: t, cluster: startCluster(t, *patroni, *etcd)}
	pgtest.Connect(t, h.cluster.url("postgres", "postgres")).Do("CREATE ROLE animalstore LOGIN", "CREATE DATABASE animalstore OWNER animalstore")
	h.folder = programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+h.cluster.url("animalstore", "animalstore"))
	h.nodes = h.folder.ServeNodes(3, "--order-hold", "3s")
	h.load = workload.New(t, rand.Uint64(), len(h.nodes))
	h.load.DatabaseFails, h.load.Pinned, h.load.Pause = true, true, 100*time.Millisecond
	for i, node := range h.nodes {
		node.DatabaseMayFail = true
		h.load.SetNode(i, node)
	}
	return h
}

// inject injects a fault into a complete cluster under load. The cluster must then repair itself. If failover is
// true, another member must become the leader, on a higher timeline.
func (h *harness) inject(name string, failover bool, fault func(leader *member)) {
	h.t.Helper()
	h.awaitService()
	o := outage{fault: name, since: h.load.Elapsed()}
	leader, timeline := h.cluster.awaitComplete()
	o.leaders[0], o.timelines[0] = leader.name, timeline
	fault(leader)
	h.awaitService()
	leader, timeline = h.cluster.awaitComplete()
	o.leaders[1], o.timelines[1], o.until = leader.name, timeline, h.load.Elapsed()
	if failover && (o.leaders[0] == o.leaders[1] || o.timelines[0] >= o.timelines[1]) {
		h.t.Errorf("no failover: %+v", o)
	}
	if h.load.Failed() {
		h.t.FailNow()
	}
	h.t.Logf("%s after %.0f seconds: %s", name, o.since.Seconds(), change(o.leaders[0], o.leaders[1]))
	h.outages = append(h.outages, o)
}

// awaitService waits until every node acknowledges writes.
func (h *harness) awaitService() {
	h.t.Helper()
	for i := range h.nodes {
		enough := h.load.AcknowledgedBy(i) + 20
		programtest.Await(h.t, fmt.Sprintf("node %d to acknowledge writes", i+1), func() bool {
			return h.load.AcknowledgedBy(i) >= enough || h.load.Failed()
		})
	}
}

// killLeader kills everything on the leader's machine. Before that, it stops the leader's WAL senders, so that the
// leader has commits that no standby has. The service must not have acknowledged any of them. When another member has
// taken over, the machine starts again.
func (h *harness) killLeader(leader *member) {
	h.t.Helper()
	for _, id := range h.postgresProcesses(leader, "walsender") {
		must(h.t, syscall.Kill(id, syscall.SIGSTOP))
	}
	// Give the leader time to make commits that no standby has. The test passes even if there are none.
	time.Sleep(time.Second)
	kill(h.t, leader.dir)
	h.awaitFailover(leader)
	h.cluster.startMember(leader)
}

// freezeLeader freezes everything on the leader's machine, as happens to a virtual machine that is being migrated or
// is short of memory. When another member has taken over, the machine continues and still believes that it is the
// leader.
func (h *harness) freezeLeader(leader *member) {
	h.t.Helper()
	freeze(h.t, leader.dir)
	h.awaitFailover(leader)
	thaw(leader.dir)
}

// freezeLeaderBriefly is like freezeLeader, but the leader continues as soon as another member has taken over. At that
// time, the nodes have not noticed the failover yet.
func (h *harness) freezeLeaderBriefly(leader *member) {
	h.t.Helper()
	freeze(h.t, leader.dir)
	h.awaitLeader(leader)
	thaw(leader.dir)
}

// awaitFailover waits until another member is the leader and every node uses it.
func (h *harness) awaitFailover(from *member) {
	h.t.Helper()
	h.awaitLeader(from)
	h.awaitService()
}

func (h *harness) awaitLeader(from *member) {
	h.t.Helper()
	h.cluster.await("another leader", func() bool {
		leader, _ := h.cluster.leader()
		return leader != nil && leader != from
	})
}

// killPostgres kills only the leader's PostgreSQL. Patroni must not start it as the leader again, because readers
// would then see commits that no standby has and that a second fault would undo.
func (h *harness) killPostgres(leader *member) {
	h.t.Helper()
	kill(h.t, filepath.Join(leader.dir, "data"))
}

// killCheckpointer kills one process of the leader's PostgreSQL. PostgreSQL must not recover by itself, for the same
// reason as in killPostgres.
func (h *harness) killCheckpointer(leader *member) {
	h.t.Helper()
	for _, id := range h.postgresProcesses(leader, "checkpointer") {
		must(h.t, syscall.Kill(id, syscall.SIGKILL))
	}
}

// postgresProcesses returns the ids of a member's PostgreSQL processes of the given kind, such as walsender. It fails
// the test if there are none.
func (h *harness) postgresProcesses(m *member, kind string) (ids []int) {
	h.t.Helper()
	for _, id := range processes(filepath.Join(m.dir, "data")) {
		title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id)) // the process may have exited
		if strings.Contains(string(title), kind) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		h.t.Fatalf("the PostgreSQL of %s has no %s", m.name, kind)
	}
	return ids
}

// freezeEtcd freezes etcd until the leader's key has expired. With failsafe_mode, the leader stays the leader.
func (h *harness) freezeEtcd(*member) {
	h.t.Helper()
	freeze(h.t, h.cluster.etcd)
	// Wait longer than ttl, because the test cannot observe when the key expires.
	time.Sleep(30 * time.Second)
	thaw(h.cluster.etcd)
}

// copyLeader copies the leader's data and returns the path of the copy.
func (h *harness) copyLeader() string {
	h.t.Helper()
	leader, _ := h.cluster.leader()
	dir := filepath.Join(h.cluster.newDir("old"), "data")
	output, err := h.cluster.sandbox.Command(h.cluster.sandbox.Dir, filepath.Join(h.cluster.sandbox.Programs, "pg_basebackup"),
		"-h", "127.0.0.1", "-p", fmt.Sprint(leader.port), "-U", "postgres", "-D", dir, "-c", "fast").CombinedOutput()
	if err != nil {
		h.t.Fatalf("%v\n%s", err, output)
	}
	return dir
}

// bringBack kills the whole cluster and replaces one member with a server that runs on an old copy of the data. A
// failover manager that has lost its state might do the same. Every node and every command must refuse this server,
// and nothing may be acknowledged. Then the cluster starts again.
func (h *harness) bringBack(old string) {
	h.t.Helper()
	for _, m := range h.cluster.members {
		kill(h.t, m.dir)
	}
	h.cluster.run(filepath.Dir(old), "postgres.log", filepath.Join(h.cluster.sandbox.Programs, "postgres"), "-D", old,
		"-c", fmt.Sprint("port=", h.cluster.members[0].port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "synchronous_standby_names=")
	for i, node := range h.nodes {
		programtest.Await(h.t, "a node to refuse the old state", func() bool {
			return strings.Contains(node.Send("GET", "/readyz", "", "").Body, "lost a part of its history")
		})
		before := h.load.AcknowledgedBy(i)
		a := node.Send("POST", "/v1/pets", programtest.AdminKey, `{"name":"Rex","categoryId":1}`)
		programtest.ExpectError(h.t, a, http.StatusServiceUnavailable, "unavailable")
		if n := h.load.AcknowledgedBy(i) - before; n > 0 {
			h.t.Errorf("node %d acknowledged %d writes", i+1, n)
		}
		if n := node.Metric("animalstore_postgres_timeline_refusals_total"); n == 0 {
			h.t.Errorf("node %d counted no refusal", i+1)
		}
		if n := strings.Count(node.Output.String(), `msg="a database server was refused"`); n == 0 {
			h.t.Errorf("the log of node %d reports no refused server", i+1)
		}
	}
	for _, id := range processes(old) {
		_ = syscall.Kill(id, syscall.SIGQUIT) // the error can be ignored, because the process may have exited
	}
	programtest.Await(h.t, "the old server to end", func() bool { return len(processes(old)) == 0 })
	for _, m := range h.cluster.members {
		h.cluster.startMember(m)
	}
}
