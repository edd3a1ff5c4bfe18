// Package upgrade replaces the previous release with this version under load. Without the -upgrade flag, nothing runs,
// because the previous release must be built from the git history:
//
//	go test -run '^TestUpgrade$' -timeout 0 -v ./internal/upgrade -upgrade
package upgrade

import (
	"flag"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/workload"
)

func TestMain(m *testing.M) { programtest.Main(m) }

var upgrade = flag.Bool("upgrade", false, "run the upgrade from the previous release, which is built from the git history")

// TestUpgrade upgrades a store from the previous release under load. On PostgreSQL, it replaces three nodes one after
// another. On SQLite, it replaces the only node. If a client retries, none of its calls may fail, and every change must be
// made exactly once. Every follower and every webhook must receive every event. Keys, sessions, cursors and ETags that
// the previous release issued must remain valid. Afterwards, the previous release must refuse to open the store.
func TestUpgrade(t *testing.T) {
	if !*upgrade {
		t.Skip("runs by hand: make upgrade-test")
	}
	previous := programtest.Version10.Build(t)
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		// Clients need more retries here, because the service is unavailable while its only node restarts.
		runUpgrade(t, previous, programtest.NewFolderWithKey(t), 1, 50)
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		f := programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+pgtest.Shared(t).NewDatabase(t))
		runUpgrade(t, previous, f, 3, 4) // 4 is the Go client's default number of retries
	})
}

// steps is the number of operations between two steps of an upgrade.
const steps = 1000

func runUpgrade(t *testing.T, previous string, f *programtest.Folder, n, retries int) {
	t.Helper()
	load := workload.New(t, rand.Uint64(), n)
	load.Retries = retries
	nodes := make([]*programtest.Program, n)
	start := func(i int, binary string) {
		nodes[i] = f.Launch(exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--order-hold", "3s", "--webhook-allow-private"))
		nodes[i].DatabaseMayFail = true
		nodes[i].AwaitReady()
		load.SetNode(i, nodes[i])
	}
	for i := range nodes {
		start(i, previous)
	}
	steady := load.NewReceiver(client.EventOrderPlaced, client.EventOrderApproved, client.EventOrderDelivered, client.EventOrderCancelled,
		client.EventOrderExpired)
	flaky, disabled := load.NewReceiver(categoryEvents...), load.NewReceiver(categoryEvents...)
	flaky.RefusesFirst = true
	disabled.Enable(false)
	kept := keepPromises(load, nodes[0])
	stop := load.Start()
	awaitOperations(t, load)
	for i, node := range nodes {
		stopNode(node, func() { load.SetNode(i, nil) })
		began := time.Now()
		start(i, programtest.Binary(t))
		// A start that took much longer than usual is a sign that the migration and the writes were blocking each other.
		t.Logf("node %d was ready %v after its start", i, time.Since(began))
		awaitOperations(t, load)
	}
	stop()
	for _, node := range nodes {
		kept.check(node)
	}
	disabled.Enable(true)
	load.Check()
	for _, r := range []*workload.Receiver{steady, flaky, disabled} {
		r.Check()
	}
	for _, node := range nodes {
		node.Stop()
	}
	f.MustRun("check")
	programtest.ExpectRefusal(t, f.RunCommand(previous, "serve", "--addr", programtest.TakenAddr(t)), 1, "newer animalstore")
}

var categoryEvents = []client.EventType{client.EventCategoryCreated, client.EventCategoryUpdated, client.EventCategoryDeleted}

func awaitOperations(t *testing.T, load *workload.Load) {
	t.Helper()
	enough := load.Acknowledged.Load() + steps
	programtest.Await(t, "operations to be acknowledged", func() bool { return load.Acknowledged.Load() >= enough || load.Failed() })
}

// stopNode stops a node as an operator with a load balancer does: it sends SIGTERM, calls remove once /readyz fails,
// and waits until the node has exited.
func stopNode(node *programtest.Program, remove func()) {
	node.T.Helper()
	node.Signal(syscall.SIGTERM)
	programtest.Await(node.T, "the stopping node to be unready", func() bool {
		a, err := node.Try("GET", "/readyz", "", "")
		return err != nil || a.Status == http.StatusServiceUnavailable
	})
	remove()
	if code := node.ExitCode(); code != 0 {
		node.T.Errorf("the node exited with code %d, want 0", code)
	}
	node.Output.Trim()
}
