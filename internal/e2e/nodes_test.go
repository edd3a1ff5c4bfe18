package e2e

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// newSharedFolder creates an empty folder for nodes that share a new PostgreSQL database.
func newSharedFolder(t *testing.T) *programtest.Folder {
	t.Helper()
	return programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+pgtest.Shared(t).NewDatabase(t))
}

// serveNodesUnderLoad starts nodes that may log that the database is unavailable. On a busy machine, the
// database may be too slow at times, so the clients of these nodes must retry.
func serveNodesUnderLoad(f *programtest.Folder, n int) []*programtest.Program {
	f.T.Helper()
	nodes := f.ServeNodes(n)
	for _, node := range nodes {
		node.DatabaseMayFail = true
	}
	return nodes
}

// balancer is a load balancer that sends requests to the nodes in turn. It never repeats a request, because
// retrying is the client's responsibility.
type balancer struct {
	transport        *http.Transport
	slots            []*atomic.Pointer[backend] // a slot is nil if its node is down
	ignoresReadiness bool                       // if true, use a node until it refuses connections
	turn             atomic.Uint64
}

// backend is a node as the balancer sees it.
type backend struct {
	url   *url.URL
	ready atomic.Bool
	used  atomic.Int64 // the number of requests sent to the node
}

func newBalancer(t *testing.T, nodes []*programtest.Program) *balancer {
	t.Helper()
	b := &balancer{transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	ctx, stop := context.WithCancel(context.Background())
	var watchers sync.WaitGroup
	for i, node := range nodes {
		slot := &atomic.Pointer[backend]{}
		b.slots = append(b.slots, slot)
		b.put(i, node)
		watchers.Go(func() { watch(ctx, slot) })
	}
	t.Cleanup(func() {
		stop()
		watchers.Wait()
		b.transport.CloseIdleConnections()
	})
	return b
}

// put places a node in a slot, or empties the slot if node is nil, and returns the counter of the requests sent
// to the node. The slot must be emptied when its node stops, because another process may reuse the port.
func (b *balancer) put(i int, node *programtest.Program) (used *atomic.Int64) {
	if node == nil {
		b.slots[i].Store(nil)
		return nil
	}
	at, err := url.Parse(node.URL)
	if err != nil {
		node.T.Fatal(err)
	}
	placed := &backend{url: at}
	placed.ready.Store(true)
	b.slots[i].Store(placed)
	return &placed.used
}

// watch polls /readyz on the slot's node until the context ends.
func watch(ctx context.Context, slot *atomic.Pointer[backend]) {
	probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: programtest.WaitTimeout}
	for ctx.Err() == nil {
		if node := slot.Load(); node != nil {
			response, err := probe.Get(node.url.JoinPath("readyz").String())
			if err == nil {
				response.Body.Close()
			}
			node.ready.Store(err == nil && response.StatusCode == http.StatusOK)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (b *balancer) client(t *testing.T) *client.Client {
	t.Helper()
	return newClient(t, "http://nodes.example", b)
}

func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close() // each attempt sends a copy of the body
	}
	for {
		if response, err := b.forward(r); err != errNoNode {
			return response, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// errNoNode is returned by forward if no node is ready. All probes may fail on a machine that stalls, so the
// balancer then waits and tries again.
var errNoNode = errors.New("no node is ready")

// forward sends a request to the next node that accepts the connection.
func (b *balancer) forward(r *http.Request) (*http.Response, error) {
	err := errNoNode
	turn := b.turn.Add(1)
	for i := range uint64(len(b.slots)) {
		node := b.slots[(turn+i)%uint64(len(b.slots))].Load()
		if node == nil || !node.ready.Load() && !b.ignoresReadiness {
			continue
		}
		attempt := r.Clone(r.Context())
		attempt.URL.Scheme, attempt.URL.Host = node.url.Scheme, node.url.Host
		if r.GetBody != nil {
			attempt.Body, _ = r.GetBody() // cannot fail because the body is in memory
		}
		var response *http.Response
		if response, err = b.transport.RoundTrip(attempt); isRefusedConnection(err) {
			continue // the node is down
		}
		node.used.Add(1)
		return response, err
	}
	return nil, err
}
