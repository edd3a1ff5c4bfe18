package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// TestRollingRestartFailsNoRequest restarts the nodes one after another under load, as an upgrade does. Half
// of the clients use a load balancer that polls /readyz. The other half use a load balancer that sends
// requests to a node until the node refuses connections. No call to the Go client may fail, and every
// acknowledged change must exist exactly once.
func TestRollingRestartFailsNoRequest(t *testing.T) {
	t.Parallel()
	const nodes, clients = 3, 4
	f, _ := newSharedFolder(t)
	running := serveNodesUnderLoad(f, nodes)
	b := newBalancer(t, running)
	blind := &balancer{transport: b.transport, slots: b.slots, ignoresReadiness: true}
	work := &workDone{pets: map[string]client.PetStatus{}, orders: map[string]client.OrderStatus{}}
	ctx, stop := context.WithCancel(t.Context())
	var buyers sync.WaitGroup
	t.Cleanup(buyers.Wait)
	for i := range clients {
		c := b.client(t)
		if i%2 == 0 {
			c = blind.client(t)
		}
		buyers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := work.buyPet(context.WithoutCancel(ctx), c, fmt.Sprintf("client %d, purchase %d", i, n), n); err != nil {
					t.Errorf("client %d, purchase %d: %v", i, n, err)
					return
				}
			}
		})
	}
	awaitProgress := func() {
		t.Helper()
		enough := work.purchases.Load() + 2*clients
		programtest.Await(t, "the next purchases", func() bool { return work.purchases.Load() >= enough || t.Failed() })
	}
	awaitProgress()
	announced := 0
	for i, node := range running {
		node.Stop()
		// Before a node stops, /readyz fails for one second. On a busy machine, the balancer may not have
		// sent a probe during this time. In this case, the node's log must show that it waited.
		if b.slots[i].hasAnnounced() {
			announced++
		} else if delay := stopDelay(node); delay < time.Second {
			t.Errorf("the node stopped %v after the signal, want at least 1s of failing /readyz first", delay)
		}
		b.put(i, nil)
		awaitProgress()
		b.put(i, serveNodesUnderLoad(f, 1)[0])
		programtest.Await(t, "the new node to be used", func() bool { return b.slots[i].used.Load() > 0 || t.Failed() })
		awaitProgress()
	}
	stop()
	buyers.Wait()
	t.Logf("probes saw %d of %d nodes report that they are stopping", announced, len(running))
	t.Logf("%d purchases; with probes: %s; without: %s", work.purchases.Load(), b, blind)
	work.check(t, b.client(t))
}

var stoppingAndStopped = regexp.MustCompile(`(?s)time=(\S+) level=INFO msg=stopping\n.*time=(\S+) level=INFO msg=stopped\n`)

// stopDelay returns the time between the stop signal and the end of the process, according to the node's log.
func stopDelay(p *programtest.Program) time.Duration {
	p.T.Helper()
	lines := stoppingAndStopped.FindStringSubmatch(p.Output.String())
	if lines == nil {
		p.T.Fatal("the log lacks the lines \"stopping\" and \"stopped\"")
	}
	begin, err := time.Parse(time.RFC3339Nano, lines[1])
	if err != nil {
		p.T.Fatal(err)
	}
	end, err := time.Parse(time.RFC3339Nano, lines[2])
	if err != nil {
		p.T.Fatal(err)
	}
	return end.Sub(begin)
}

// workDone records the acknowledged purchases.
type workDone struct {
	purchases atomic.Int64

	mu     sync.Mutex
	pets   map[string]client.PetStatus   // the status of each animal, by name
	orders map[string]client.OrderStatus // the status of each order, by reference
}

// buyPet adds an animal and orders it. It may then approve the order and deliver or cancel it. Each request
// may reach a different node, so every node must know what the other nodes have acknowledged.
func (l *workDone) buyPet(ctx context.Context, c *client.Client, name string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, programtest.WaitTimeout)
	defer cancel()
	pet, err := c.CreatePet(ctx, client.NewPet{Name: name, CategoryID: int64(n % 3), Status: client.PetAvailable})
	if err != nil {
		return err
	}
	order, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID, Reference: name})
	if err != nil {
		return err
	}
	if _, err := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID, Reference: "too late"}); !client.IsCode(err, client.CodePetNotAvailable) {
		return fmt.Errorf("ordering an animal twice: got %v, want %s", err, client.CodePetNotAvailable)
	}
	status := client.PetPending
	if n%4 > 0 {
		if order, err = c.ApproveOrder(ctx, order.ID); err != nil {
			return err
		}
	}
	switch n % 4 {
	case 2:
		status = client.PetSold
		order, err = c.DeliverOrder(ctx, order.ID)
	case 3:
		status = client.PetAvailable
		order, err = c.CancelOrder(ctx, order.ID)
	}
	if err != nil {
		return err
	}
	if pet, err = c.GetPet(ctx, pet.ID); err != nil || pet.Name != name || pet.Status != status {
		return fmt.Errorf("got %+v, %v, want %s with the status %q", pet, err, name, status)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pets[name], l.orders[name] = status, order.Status
	l.purchases.Add(1)
	return nil
}

// check verifies that every acknowledged purchase exists exactly once and that nothing else exists.
func (l *workDone) check(t *testing.T, c *client.Client) {
	t.Helper()
	var counted client.Inventory
	pets, orders := map[string]client.PetStatus{}, map[string]client.OrderStatus{}
	for pet, err := range c.Pets(t.Context(), client.PetQuery{Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := pets[pet.Name]; twice {
			t.Errorf("animal %q exists twice", pet.Name)
		}
		pets[pet.Name] = pet.Status
		switch pet.Status {
		case client.PetAvailable:
			counted.Available++
		case client.PetPending:
			counted.Pending++
		case client.PetSold:
			counted.Sold++
		}
	}
	for order, err := range c.Orders(t.Context(), client.OrderQuery{Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := orders[order.Reference]; twice {
			t.Errorf("order %q exists twice", order.Reference)
		}
		orders[order.Reference] = order.Status
	}
	if !maps.Equal(pets, l.pets) {
		t.Errorf("got the animals %v, want %v as acknowledged", pets, l.pets)
	}
	if !maps.Equal(orders, l.orders) {
		t.Errorf("got the orders %v, want %v as acknowledged", orders, l.orders)
	}
	if inventory, err := c.Inventory(t.Context()); err != nil || inventory != counted {
		t.Errorf("the inventory is %+v, %v, want %+v like the animals", inventory, err, counted)
	}
}

// balancer is a load balancer that sends requests to the nodes in turn. It never repeats a request, because
// retrying is the client's responsibility.
type balancer struct {
	transport           *http.Transport
	slots               []*slot
	ignoresReadiness    bool // if true, use a node until it refuses connections
	turn                atomic.Uint64
	sent, lost, refused atomic.Int64
}

// slot is a place for one node in the balancer. It may be empty.
type slot struct {
	mu        sync.Mutex
	url       *url.URL // the node's URL, or nil if the slot is empty
	ready     bool
	announced bool // whether a probe has received a 503 from the node

	used atomic.Int64 // the number of requests sent to the node
}

func newBalancer(t *testing.T, nodes []*programtest.Program) *balancer {
	t.Helper()
	b := &balancer{transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	ctx, stop := context.WithCancel(context.Background())
	var watchers sync.WaitGroup
	for i, node := range nodes {
		s := &slot{}
		b.slots = append(b.slots, s)
		b.put(i, node)
		watchers.Go(func() { s.watch(ctx) })
	}
	t.Cleanup(func() {
		stop()
		watchers.Wait()
		b.transport.CloseIdleConnections()
	})
	return b
}

// put places a node in a slot, or empties the slot if node is nil. The slot must be emptied when its node
// stops, because another process may reuse the port.
func (b *balancer) put(i int, node *programtest.Program) {
	var at *url.URL
	if node != nil {
		at = &url.URL{Scheme: "http", Host: strings.TrimPrefix(node.URL, "http://")}
	}
	s := b.slots[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url, s.ready = at, at != nil
	s.used.Store(0)
	s.announced = false
}

// watch polls /readyz on the slot's node until the context ends.
func (s *slot) watch(ctx context.Context) {
	probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: programtest.WaitTimeout}
	for ctx.Err() == nil {
		if at, _ := s.current(); at != nil {
			response, err := probe.Get(at.JoinPath("readyz").String())
			if err == nil {
				response.Body.Close()
			}
			s.record(at, err == nil && response.StatusCode == http.StatusOK, err == nil && response.StatusCode == http.StatusServiceUnavailable)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// record stores the result of a probe unless the slot now holds another node.
func (s *slot) record(at *url.URL, ready, announced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.url == at {
		s.ready = ready
		s.announced = s.announced || announced
	}
}

func (s *slot) current() (*url.URL, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url, s.ready
}

func (s *slot) hasAnnounced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.announced
}

func (b *balancer) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New("http://nodes.example/v1", programtest.AdminKey, client.WithHTTPClient(&http.Client{Transport: b, Timeout: programtest.WaitTimeout}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *balancer) String() string {
	return fmt.Sprintf("of %d requests, %d got no response and %d a 5xx", b.sent.Load(), b.lost.Load(), b.refused.Load())
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
		s := b.slots[(turn+i)%uint64(len(b.slots))]
		at, ready := s.current()
		if at == nil || !ready && !b.ignoresReadiness {
			continue
		}
		attempt := r.Clone(r.Context())
		attempt.URL.Scheme, attempt.URL.Host = at.Scheme, at.Host
		if r.GetBody != nil {
			attempt.Body, _ = r.GetBody() // cannot fail because the body is in memory
		}
		var response *http.Response
		if response, err = b.transport.RoundTrip(attempt); isRefusedConnection(err) {
			continue // the node is down
		}
		b.sent.Add(1)
		s.used.Add(1)
		switch {
		case err != nil:
			b.lost.Add(1)
		case response.StatusCode >= 500:
			b.refused.Add(1)
		}
		return response, err
	}
	return nil, err
}
