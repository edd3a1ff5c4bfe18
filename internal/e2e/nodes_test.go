package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// TestRollingRestartFailsNoRequest restarts the nodes one after another under load, as an upgrade does. Half of the
// clients use a load balancer that polls /readyz. The other half use a load balancer that sends requests to a node
// until the node refuses connections. No call through the Go client may fail, and every acknowledged change must exist
// exactly once.
func TestRollingRestartFailsNoRequest(t *testing.T) {
	t.Parallel()
	const clients = 4
	f := newSharedFolder(t)
	nodes := serveNodesUnderLoad(f, 3)
	b := newBalancer(t, nodes)
	blind := &balancer{transport: b.transport, slots: b.slots, ignoresReadiness: true}
	l := newLoad(t)
	buyers := []*buyer{{Client: b.client(t), load: l}, {Client: blind.client(t), load: l}}
	l.start(clients, func(i, n int) error { return buyers[i%2].buy(fmt.Sprintf("client %d, purchase %d", i, n), n) })
	l.await(8 * clients)
	for i, node := range nodes {
		node.Stop()
		if delay := stopDelay(node); delay < time.Second {
			t.Errorf("the node stopped %v after the signal, want at least 1s of failing /readyz first", delay)
		}
		b.put(i, nil)
		l.await(8 * clients)
		nodes[i] = serveNodesUnderLoad(f, 1)[0]
		used := b.put(i, nodes[i])
		programtest.Await(t, "the new node to be used", func() bool { return used.Load() > 0 || t.Failed() })
		l.await(8 * clients)
	}
	l.stop()
	for _, node := range nodes {
		l.check(node)
	}
	if lost := len(l.sent) - len(l.pets) + len(l.references) - len(l.orders); lost != 0 {
		t.Errorf("%d animals and orders were not acknowledged, want all to be", lost)
	}
}

var stoppingAndStopped = regexp.MustCompile(`(?s)time=(\S+) level=INFO msg=stopping\n.*time=(\S+) level=INFO msg=stopped\n`)

// stopDelay returns the time between the stop signal and the end of the process, according to the node's log.
func stopDelay(p *programtest.Program) time.Duration {
	p.T.Helper()
	lines := stoppingAndStopped.FindStringSubmatch(p.Output.String())
	if lines == nil {
		p.T.Fatal("the log lacks the lines \"stopping\" and \"stopped\"")
	}
	begin, err1 := time.Parse(time.RFC3339Nano, lines[1])
	end, err2 := time.Parse(time.RFC3339Nano, lines[2])
	if err1 != nil || err2 != nil {
		p.T.Fatal(err1, err2)
	}
	return end.Sub(begin)
}

// buy adds an animal and orders it. It may then approve the order and deliver or cancel it. Each request may
// reach a different node, so every node must know what the other nodes have acknowledged.
func (b *buyer) buy(name string, n int) error {
	ctx := b.load.t.Context()
	pet, err := b.add(client.NewPet{Name: name, CategoryID: int64(n % 3), Status: client.PetAvailable})
	if err != nil {
		return err
	}
	order, err := b.order(pet.ID, name)
	if err != nil {
		return err
	}
	if _, late := b.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID}); !client.IsCode(late, client.CodePetNotAvailable) {
		return fmt.Errorf("ordering an animal twice: got %v, want %s", late, client.CodePetNotAvailable)
	}
	if n%4 > 0 {
		if order, err = b.ApproveOrder(ctx, order.ID); err != nil {
			return err
		}
	}
	switch n % 4 {
	case 2:
		order, err = b.DeliverOrder(ctx, order.ID)
	case 3:
		order, err = b.CancelOrder(ctx, order.ID)
	}
	if err != nil {
		return err
	}
	b.load.record(order)
	want := petStatusOf[order.Status]
	if pet, err = b.GetPet(ctx, pet.ID); err != nil || pet.Name != name || pet.Status != want {
		return fmt.Errorf("got %+v, %v, want %s with the status %q", pet, err, name, want)
	}
	return nil
}

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
	ignoresReadiness bool                       // if true, the balancer uses a node until the node refuses connections
	turn             atomic.Uint64
}

// backend is a node to which the balancer sends requests.
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

// put places a node in a slot and returns the counter of the requests sent to the node. If node is nil, put empties
// the slot. A slot must be emptied when its node stops, because another process may reuse the port.
func (b *balancer) put(i int, node *programtest.Program) (used *atomic.Int64) {
	if node == nil {
		b.slots[i].Store(nil)
		return nil
	}
	at, err := url.Parse(node.URL)
	must(node.T, err)
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
		defer r.Body.Close() // close the original body, because each attempt sends a copy of it
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

// errNoNode is returned by forward if no node is ready. The balancer then waits and tries again, because all readiness
// checks may fail while the machine is overloaded.
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
			attempt.Body, _ = r.GetBody() // GetBody cannot fail, because the body is in memory
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
