package soak

import (
	"flag"
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing"

	"animalstore/client"
	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

var upgrade = flag.Bool("upgrade", false, "run the upgrade from the previous release, which is built from the git history")

// TestUpgrade upgrades a store from the previous release under load: three nodes on PostgreSQL, one after another, and
// the single node on SQLite. No call of a client that retries may fail, every change must be made exactly once,
// every follower and every webhook must receive every event, and what the previous release has promised must
// hold after the upgrade. Afterwards, the previous release must refuse the store.
func TestUpgrade(t *testing.T) {
	if !*upgrade {
		t.Skip("runs by hand: make upgrade-test")
	}
	previous := programtest.Previous(t)
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		// While the only node is down, calls must wait for longer than with several nodes.
		runUpgrade(t, previous, programtest.NewFolderWithKey(t), 1, client.WithRetries(50))
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		f := programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+pgtest.Shared(t).NewDatabase(t))
		runUpgrade(t, previous, f, 3)
	})
}

// upgradeOperations is the number of operations between two steps of an upgrade.
const upgradeOperations = 1000

func runUpgrade(t *testing.T, previous string, f *programtest.Folder, nodes int, options ...client.Option) {
	t.Helper()
	s := newSoak(t, f, previous, rand.Uint64(), nodes)
	s.clientProxy.meanBytes.Store(0)
	s.streamProxy.meanBytes.Store(0)
	for _, one := range s.load[:soakClients] {
		c := one.(*soakClient)
		c.retries, c.mustSucceed = true, true
		c.api = s.newClient(s.clientProxy.url(), c.http, options...)
	}
	steady := newReceiver(s, client.EventOrderPlaced, client.EventOrderApproved, client.EventOrderDelivered, client.EventOrderCancelled, client.EventOrderExpired)
	flaky, disabled := newReceiver(s, categoryEvents...), newReceiver(s, categoryEvents...)
	flaky.refusesFirst = true
	disabled.enable(false)
	kept := s.keepPromises()
	stop := s.startLoad()
	s.awaitGrowth("operations to be acknowledged", &s.acknowledged, upgradeOperations)
	for i := range s.nodes {
		s.upgradeNode(i)
		s.awaitGrowth("operations to be acknowledged", &s.acknowledged, upgradeOperations)
	}
	stop()
	for _, node := range s.nodes {
		kept.check(node)
	}
	disabled.enable(true)
	s.check()
	for _, r := range []*receiver{steady, flaky, disabled} {
		r.check()
	}
	for _, node := range s.nodes {
		node.Stop()
	}
	f.MustRun("check")
	programtest.ExpectRefusal(t, f.RunCommand(previous, "serve", "--addr", programtest.TakenAddr(t)), 1, "newer animalstore")
}

var categoryEvents = []client.EventType{client.EventCategoryCreated, client.EventCategoryUpdated, client.EventCategoryDeleted}

// upgradeNode replaces a node as an operator with a load balancer does: it sends SIGTERM, sends no more requests to
// the node once /readyz fails, waits until the node has exited, and starts the new version.
func (s *soak) upgradeNode(i int) {
	s.t.Helper()
	node := s.nodes[i]
	node.Signal(syscall.SIGTERM)
	programtest.Await(s.t, "the stopping node to be unready", func() bool {
		a, err := node.Try("GET", "/readyz", "", "")
		return err != nil || a.Status == http.StatusServiceUnavailable
	})
	s.setAddr(i, "")
	if code := node.ExitCode(); code != 0 {
		s.problem("node %d exited with code %d, want 0", i, code)
	}
	node.Output.Trim()
	s.binary = programtest.Binary(s.t)
	s.startNode(i)
}
