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
)

// TestRollingRestartFailsNoRequest stops and starts the nodes one after the other, as an upgrade does, while clients go on: some through
// a balancer that asks each node whether it is ready, others through one that does not, and so until the node closes the
// door. None of their calls may fail, and all that they did is there, once.
func TestRollingRestartFailsNoRequest(t *testing.T) {
	t.Parallel()
	const nodes, clients = 3, 4
	f, _ := newSharedFolder(t)
	running := f.servePatientNodes(nodes)
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
				if err := work.buyPet(context.WithoutCancel(ctx), c, fmt.Sprintf("client %d, visit %d", i, n), n); err != nil {
					t.Errorf("client %d, visit %d: %v", i, n, err)
					return
				}
			}
		})
	}
	awaitProgress := func() {
		t.Helper()
		enough := work.purchases.Load() + 2*clients
		await(t, "the clients", func() bool { return work.purchases.Load() >= enough || t.Failed() })
	}
	awaitProgress()
	announced := 0
	for i, node := range running {
		node.stop()
		// On a busy machine nobody may have asked during the second in which the node says so; its log then shows the second.
		if b.slots[i].hasAnnounced() {
			announced++
		} else if delay := node.stopDelay(); delay < time.Second {
			t.Errorf("the node did not say that it is about to stop before it did, %v later", delay)
		}
		b.put(i, nil)
		awaitProgress()
		b.put(i, f.servePatientNodes(1)[0])
		await(t, "the new node to be used", func() bool { return b.slots[i].used.Load() > 0 || t.Failed() })
		awaitProgress()
	}
	stop()
	buyers.Wait()
	t.Logf("%d of %d nodes were seen to say that they are about to stop", announced, len(running))
	t.Logf("%d visits; by readiness: %s; without: %s", work.purchases.Load(), b, blind)
	work.check(t, b.client(t))
}

var stoppingAndStopped = regexp.MustCompile(`(?s)time=(\S+) level=INFO msg=stopping\n.*time=(\S+) level=INFO msg=stopped\n`)

// stopDelay is how long a node that has stopped went on after it was told to.
func (p *program) stopDelay() time.Duration {
	p.t.Helper()
	lines := stoppingAndStopped.FindStringSubmatch(p.output.String())
	if lines == nil {
		p.t.Fatal("the log does not say when it stopped")
	}
	begin, err := time.Parse(time.RFC3339Nano, lines[1])
	if err != nil {
		p.t.Fatal(err)
	}
	end, err := time.Parse(time.RFC3339Nano, lines[2])
	if err != nil {
		p.t.Fatal(err)
	}
	return end.Sub(begin)
}

// workDone is what customers have done, as it was acknowledged.
type workDone struct {
	purchases atomic.Int64

	mu     sync.Mutex
	pets   map[string]client.PetStatus   // by their names
	orders map[string]client.OrderStatus // by their references
}

// buyPet adds an animal, orders it, and takes the order to one end or another. What one node has acknowledged, every other
// one must know.
func (l *workDone) buyPet(ctx context.Context, c *client.Client, name string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
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
		return fmt.Errorf("an animal that is taken was ordered: %v", err)
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
		return fmt.Errorf("the animal should be %s: %+v, %v", status, pet, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pets[name], l.orders[name] = status, order.Status
	l.purchases.Add(1)
	return nil
}

// check expects everything that was acknowledged, once, and nothing else.
func (l *workDone) check(t *testing.T, c *client.Client) {
	t.Helper()
	var counted client.Inventory
	pets, orders := map[string]client.PetStatus{}, map[string]client.OrderStatus{}
	for pet, err := range c.Pets(t.Context(), client.PetQuery{Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := pets[pet.Name]; twice {
			t.Errorf("%s is there twice", pet.Name)
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
			t.Errorf("the order of %s is there twice", order.Reference)
		}
		orders[order.Reference] = order.Status
	}
	if !maps.Equal(pets, l.pets) {
		t.Errorf("acknowledged: %v, found: %v", l.pets, pets)
	}
	if !maps.Equal(orders, l.orders) {
		t.Errorf("acknowledged: %v, found: %v", l.orders, orders)
	}
	if inventory, err := c.Inventory(t.Context()); err != nil || inventory != counted {
		t.Errorf("the inventory is %+v, the animals are %+v: %v", inventory, counted, err)
	}
}

// balancer sends each request to one of the nodes, in turn, as a load balancer does. It sends nothing twice; that is for the
// client to decide.
type balancer struct {
	transport           *http.Transport
	slots               []*slot
	ignoresReadiness    bool // does not ask whether they are ready, and passes by a node only where nobody opens
	turn                atomic.Uint64
	sent, lost, refused atomic.Int64
}

// slot is a place for a node.
type slot struct {
	mu        sync.Mutex
	url       *url.URL // nil: no node is here
	ready     bool
	announced bool // the node has said that it is not ready

	used atomic.Int64 // by requests, since the node was put in
}

func newBalancer(t *testing.T, nodes []*program) *balancer {
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

// put puts a node into its place, or none: its port may be somebody else's by now.
func (b *balancer) put(i int, node *program) {
	var at *url.URL
	if node != nil {
		at = &url.URL{Scheme: "http", Host: strings.TrimPrefix(node.url, "http://")}
	}
	s := b.slots[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url, s.ready = at, at != nil
	s.used.Store(0)
	s.announced = false
}

// watch asks the node again and again whether it is ready.
func (s *slot) watch(ctx context.Context) {
	probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
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

// record keeps what a node has said, unless another one is in its place by now.
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

// client makes a client that goes through the balancer.
func (b *balancer) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New("http://nodes.example/v1", adminKey, client.WithHTTPClient(&http.Client{Transport: b, Timeout: patience}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *balancer) String() string {
	return fmt.Sprintf("of %d requests %d got no answer, and %d a 5xx", b.sent.Load(), b.lost.Load(), b.refused.Load())
}

func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close() // each attempt has its own
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

// errNoNode tells that no node is ready. A machine that stands still for a while does that to all of them: the balancer then
// waits until one is.
var errNoNode = errors.New("no node is ready")

// forward gives a request to the next node that takes it.
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
			attempt.Body, _ = r.GetBody() // from memory: cannot fail
		}
		var response *http.Response
		if response, err = b.transport.RoundTrip(attempt); isRefusedConnection(err) {
			continue // nobody opens
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
