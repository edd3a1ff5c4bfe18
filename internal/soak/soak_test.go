package soak

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// soak puts a store under load, injects faults and records what the clients observe.
type soak struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand // used to choose the faults
	started time.Time
	folder  *programtest.Folder
	nodes   []*programtest.Program
	// If databaseFails is set, the faults include an unreachable database, during which even reads fail.
	databaseFails bool
	faults        []func()
	mildFaults    []func() // the faults that do not end a process

	// Connections through clientProxy break more often than those through streamProxy.
	clientProxy, streamProxy *faultyProxy
	clients                  []*soakClient
	followers                []*follower
	receiver                 *flakyReceiver
	exporter                 *exporter
	running                  sync.WaitGroup

	requests, unanswered, unavailable, acknowledged, replays, reads atomic.Int64
	kills, stops, fullDisks, databaseCuts                           int

	mu         sync.Mutex
	operations []*operation
	forSale    []int64 // the IDs of the animals that were most recently offered for sale
	problems   []string
	exports    []exportedPets // the most recent exports, at most maxExports
	exported   int            // the number of complete exports
}

const (
	soakClients, soakFollowers       = 16, 3
	clientConnBytes, streamConnBytes = 40_000, 2_000_000
)

// newSoak starts the nodes and creates the clients, the followers, the webhook receiver and the exporter.
func newSoak(t *testing.T, f *programtest.Folder, seed uint64, nodes int) *soak {
	t.Helper()
	s := &soak{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 3000)), started: time.Now(), folder: f, nodes: make([]*programtest.Program, nodes)}
	t.Cleanup(func() { // runs last because it is registered first
		if len(s.problems) > 0 {
			t.Errorf("%d problems:\n%s", len(s.problems), firstProblems(s.problems))
		}
	})
	s.clientProxy, s.streamProxy = newFaultyProxy(t, seed, nodes, clientConnBytes), newFaultyProxy(t, seed, nodes, streamConnBytes)
	for i := range nodes {
		s.startNode(i)
	}
	s.faults, s.mildFaults = []func(){s.killNode, s.killNode, s.stopNode, s.cutConnections}, []func(){s.cutConnections}
	c, err := client.New(s.nodes[0].URL+"/v1", programtest.AdminKey, client.WithHTTPClient(s.nodes[0].Client))
	if err != nil {
		t.Fatal(err)
	}
	s.receiver = newFlakyReceiver(s, c)
	for i := range soakClients {
		s.clients = append(s.clients, newSoakClient(s, i))
	}
	for i := range soakFollowers {
		s.followers = append(s.followers, newFollower(s, i))
	}
	s.exporter = newExporter(s)
	return s
}

// startNode starts node i and adds it to the proxies.
func (s *soak) startNode(i int) {
	s.t.Helper()
	s.nodes[i] = s.folder.Serve("--webhook-allow-private", "--order-hold", "3s")
	s.nodes[i].DatabaseMayFail = true
	addr := strings.TrimPrefix(s.nodes[i].URL, "http://")
	s.clientProxy.setNode(i, addr)
	s.streamProxy.setNode(i, addr)
}

// endNode removes node i from the proxies, so that it gets no new connections, and then ends it.
func (s *soak) endNode(i int, end func(*programtest.Program)) {
	s.t.Helper()
	s.clientProxy.setNode(i, "")
	s.streamProxy.setNode(i, "")
	end(s.nodes[i])
	s.nodes[i].Output.Trim()
}

func (s *soak) killNode() {
	s.t.Helper()
	i := s.rng.IntN(len(s.nodes))
	s.endNode(i, (*programtest.Program).Kill)
	s.kills++
	s.startNode(i)
}

func (s *soak) stopNode() {
	s.t.Helper()
	i := s.rng.IntN(len(s.nodes))
	s.endNode(i, (*programtest.Program).Stop)
	s.stops++
	s.startNode(i)
}

func (s *soak) cutConnections() {
	s.clientProxy.cutAll()
	s.streamProxy.cutAll()
}

// pause sleeps for a random number of milliseconds in [from, to).
func (s *soak) pause(from, to int) {
	time.Sleep(time.Duration(from+s.rng.IntN(to-from)) * time.Millisecond)
}

// awaitGrowth waits until number has grown by the given amount or a problem has been found.
func (s *soak) awaitGrowth(what string, number *atomic.Int64, by int64) {
	s.t.Helper()
	enough := number.Load() + by
	programtest.Await(s.t, what, func() bool { return number.Load() >= enough || s.failed() })
}

// startLoad starts the clients, the followers and the exporter. The stop function stops them and waits until
// they have ended.
func (s *soak) startLoad() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	for _, c := range s.clients {
		s.running.Go(func() { c.run(ctx) })
	}
	for _, f := range s.followers {
		s.running.Go(func() { f.follow(ctx) })
	}
	s.running.Go(func() { s.exporter.run(ctx) })
	stop = func() {
		cancel()
		s.running.Wait()
	}
	s.t.Cleanup(stop) // stops the load if the test ends early
	return stop
}

// run injects all faults for two thirds of the given duration. Then it restarts a node, measures the idle
// node's resource usage and injects only mild faults under load. Finally, it checks everything that was
// recorded and expects the node's resource usage to return to the measured values.
func (s *soak) run(length time.Duration) {
	s.t.Helper()
	stop := s.startLoad()
	end := time.Now().Add(length * 2 / 3)
	for n := 0; (n < len(s.faults) || time.Now().Before(end)) && !s.failed(); n++ {
		s.pause(100, 1500)
		if n < len(s.faults) { // inject each fault at least once
			s.faults[n]()
		} else {
			s.faults[s.rng.IntN(len(s.faults))]()
		}
	}
	stop()
	s.killNode()
	stop = s.startLoad() // warm up before measuring the resource usage
	time.Sleep(length / 12)
	stop()
	before := s.awaitSteadyUsage()
	stop = s.startLoad()
	for end := time.Now().Add(length / 4); time.Now().Before(end) && !s.failed(); {
		s.pause(500, 1500)
		s.mildFaults[s.rng.IntN(len(s.mildFaults))]()
	}
	stop()
	s.check()
	s.awaitUsageBack(before)
	for _, node := range s.nodes {
		node.Stop()
	}
}

// check waits until no order is on hold, reads all data from every node and compares the data with what was
// recorded.
func (s *soak) check() {
	s.t.Helper()
	s.clientProxy.setMeanBytes(0)
	s.streamProxy.setMeanBytes(0)
	var history soakHistory
	for i, node := range s.nodes {
		c, err := client.New(node.URL+"/v1", programtest.AdminKey, client.WithHTTPClient(node.Client))
		if err != nil {
			s.t.Fatal(err)
		}
		programtest.Await(s.t, "the last holds to expire", func() bool {
			orders, _, err := c.ListOrders(s.t.Context(), client.OrderQuery{Status: client.OrderPlaced})
			return err == nil && len(orders) == 0
		})
		here := soakHistory{operations: s.operations, exports: s.exports}
		here.events = collect(s.t, c.Events(s.t.Context(), client.EventQuery{Limit: 100}))
		here.pets = collect(s.t, c.Pets(s.t.Context(), client.PetQuery{Limit: 100}))
		here.orders = collect(s.t, c.Orders(s.t.Context(), client.OrderQuery{Limit: 100}))
		here.categories = collect(s.t, c.Categories(s.t.Context()))
		if here.inventory, err = c.Inventory(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		for _, problem := range here.check() {
			s.problem("on node %d: %s", i, problem)
		}
		history = here
	}
	s.report(history)
	if !s.failed() {
		s.checkFollowers(history.events)
	}
}

func collect[T any](t *testing.T, all iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for one, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	return list
}

// checkFollowers checks that every follower receives every event exactly once and in order. It also checks
// that the webhook receiver accepts every event whose type it subscribes to.
func (s *soak) checkFollowers(events []client.Event) {
	s.t.Helper()
	var want eventLog
	for _, e := range events {
		want.add(e)
	}
	ctx, stop := context.WithCancel(context.Background())
	var following sync.WaitGroup
	for _, f := range s.followers {
		following.Go(func() { f.follow(ctx) })
	}
	last := events[len(events)-1].ID
	for _, f := range s.followers {
		programtest.Await(s.t, "a follower to receive the last event", func() bool { return !comesAfter(last, f.lastSeen()) })
	}
	stop()
	following.Wait()
	starts := 0
	for i, f := range s.followers {
		starts += f.starts
		if difference := f.seen.diff(want); difference != "" {
			s.problem("follower %d received other events than the feed lists: %s", i, difference)
		}
	}
	programtest.Await(s.t, "the last webhook messages", func() bool { return s.receiver.missing(events) == "" })
	s.receiver.mu.Lock()
	defer s.receiver.mu.Unlock()
	s.t.Logf("%d followers, started %d times, received every event; %d webhook messages arrived in %d attempts, %d of which were rejected",
		len(s.followers), starts, len(s.receiver.accepted), s.receiver.attempts, len(s.receiver.failed))
}

// report logs the numbers of requests and faults and the size of the final state.
func (s *soak) report(history soakHistory) {
	results := map[opResult]int{}
	for _, op := range s.operations {
		results[op.result]++
	}
	s.t.Logf("%d requests, of which %d got no response, and %d writes a 503; operations: %v; %d replayed responses, and %d reads",
		s.requests.Load(), s.unanswered.Load(), s.unavailable.Load(), results, s.replays.Load(), s.reads.Load())
	s.t.Logf("%d kills, %d stops, %d full disks, %d database outages, %d connections cut",
		s.kills, s.stops, s.fullDisks, s.databaseCuts, s.clientProxy.cuts.Load()+s.streamProxy.cuts.Load())
	s.t.Logf("%d events; %d animals, %d orders and %d categories exist; %d exports completed",
		len(history.events), len(history.pets), len(history.orders), len(history.categories), s.exported)
}

// problem records a failure. The test reports all failures when it ends.
func (s *soak) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

func (s *soak) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.problems) > 0
}

// recordOperation records an operation before it is sent.
func (s *soak) recordOperation(op *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.operations = append(s.operations, op)
}

// recordResult records the result of an operation.
func (s *soak) recordResult(op *operation, result opResult, subject string) {
	op.responded, op.result, op.subject = time.Since(s.started), result, subject
	if result == done {
		s.acknowledged.Add(1)
	}
}

// offerForSale allows all clients to order the animal.
func (s *soak) offerForSale(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forSale = append(s.forSale, id)
	if len(s.forSale) > 40 {
		s.forSale = s.forSale[1:]
	}
}

// anyForSale returns the ID of a random animal that was offered for sale. It returns false if there is none.
func (s *soak) anyForSale(rng *rand.Rand) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.forSale) == 0 {
		return 0, false
	}
	return s.forSale[rng.IntN(len(s.forSale))], true
}
