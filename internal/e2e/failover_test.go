package e2e

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// TestFailoverKeepsAcknowledgedWrites kills the primary while two nodes use it and promotes its synchronous
// replica. No acknowledged write may be lost, nothing may be stored twice, and the nodes must recover without
// intervention.
func TestFailoverKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	testFailover(t, func(primary, replica *pgtest.Server, c *customers) {
		primary.Kill(t)
		programtest.Await(t, "all nodes to be not ready", func() bool { return allNodesReport(t, c.nodes, http.StatusServiceUnavailable) })
		replica.Promote(t)
	})
}

// TestFailoverDuringCommitsKeepsAcknowledgedWrites kills the primary while its commits are waiting for a
// stopped replica. Only the primary has the data from these commits, so none of them may have been
// acknowledged.
func TestFailoverDuringCommitsKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	testFailover(t, func(primary, replica *pgtest.Server, c *customers) {
		replica.Stop(t)
		c.awaitCommits(primary)
		primary.Kill(t)
		replica.Restart(t)
		replica.Promote(t)
	})
}

// testFailover runs customers while switchOver replaces the primary with its replica.
func testFailover(t *testing.T, switchOver func(primary, replica *pgtest.Server, c *customers)) {
	t.Helper()
	const before, after = 60, 60
	primary, replica := pgtest.StartWithReplica(t, true)
	nodes := serveNodesUnderLoad(programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+pgtest.FailoverURL(primary, replica)), 2)
	c := startCustomers(t, 6, nodes)
	c.awaitWrites(before)
	switchOver(primary, replica, c)
	programtest.Await(t, "all nodes to be ready", func() bool { return allNodesReport(t, nodes, http.StatusOK) })
	c.awaitWrites(after)
	c.stop()
	c.check()
	t.Logf("writes: %d acknowledged, %d refused, %d without a response", c.writes.Load(), c.refused, c.unanswered)
}

// awaitCommits waits until at least three commits on the primary are waiting for the replica. Other
// transactions conflict with these commits and fail, so there may never be three. Therefore, one commit is
// enough once a request has been refused.
func (c *customers) awaitCommits(primary *pgtest.Server) {
	c.t.Helper()
	refused := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.refused
	}
	before := refused()
	programtest.Await(c.t, "commits that wait for the replica", func() bool {
		waiting := query[int](c.t, primary.URL(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		return waiting >= 3 || waiting >= 1 && refused() > before
	})
}

// allNodesReport reports whether every node responds to a /readyz request with the given status.
func allNodesReport(t *testing.T, nodes []*programtest.Program, status int) bool {
	t.Helper()
	var requests sync.WaitGroup
	var matching atomic.Int64
	for _, node := range nodes {
		requests.Go(func() {
			a, err := node.Try("GET", "/readyz", programtest.AdminKey, "")
			if err != nil {
				t.Error(err)
			}
			if a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "" {
				t.Errorf("503 without Retry-After: %v", a)
			}
			if a.Status == status {
				matching.Add(1)
			}
		})
	}
	requests.Wait()
	return matching.Load() == int64(len(nodes))
}
