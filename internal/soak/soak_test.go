// Package soak runs the whole service under load for as long as you like, injects faults, and checks
// afterwards that no acknowledged write is lost or duplicated. Without the environment variable SOAK, only the
// tests of the checker run:
//
//	SOAK=10m go test -run '^TestSoak$' -timeout 0 -v ./internal/soak
package soak

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/client"
	"animalstore/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// soak puts a store under load, injects faults and records what the clients observe.
type soak struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand // used to choose the faults
	started time.Time
	folder  *programtest.Folder
	binary  string // the program that startNode starts
	nodes   []*programtest.Program
	// If databaseFails is set, the faults include an unreachable database, during which even reads fail.
	databaseFails bool
	faults        []func()
	mildFaults    []func() // the faults that do not end a process

	// Connections through clientProxy break more often than those through streamProxy.
	clientProxy, streamProxy *faultyProxy
	load                     []interface{ run(context.Context) } // the clients and the followers
	followers                []*follower

	unanswered, unavailable, acknowledged, reads, cuts atomic.Int64
	injected                                           map[string]int // the number of faults of each kind

	mu         sync.Mutex
	addrs      []string // the address of each node, or "" if the node is down
	operations []*operation
	forSale    []int64 // the IDs of the animals that were most recently offered for sale
	problems   []string
}

const soakClients, soakFollowers = 16, 3

// newSoak starts the nodes and creates the clients and the followers.
func newSoak(t *testing.T, f *programtest.Folder, binary string, seed uint64, nodes int) *soak {
	t.Helper()
	s := &soak{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 3000)), started: time.Now(), folder: f, binary: binary,
		nodes: make([]*programtest.Program, nodes), addrs: make([]string, nodes), injected: map[string]int{}}
	t.Cleanup(func() { // runs last because it is registered first
		if len(s.problems) > 0 {
			t.Errorf("%d problems:\n%s", len(s.problems), firstProblems(s.problems))
		}
	})
	s.clientProxy, s.streamProxy = newFaultyProxy(s, 40_000), newFaultyProxy(s, 2_000_000)
	for i := range nodes {
		s.startNode(i)
	}
	s.faults, s.mildFaults = []func(){s.killNode, s.killNode, s.stopNode, s.cutConnections}, []func(){s.cutConnections}
	for i := range soakClients {
		s.load = append(s.load, newSoakClient(s, i))
	}
	for range soakFollowers {
		f := newFollower(s)
		s.followers, s.load = append(s.followers, f), append(s.load, f)
	}
	return s
}

func (s *soak) newClient(url string, h *http.Client, options ...client.Option) *client.Client {
	s.t.Helper()
	c, err := client.New(url+"/v1", programtest.AdminKey, append(options, client.WithHTTPClient(h))...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *soak) setAddr(i int, addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addrs[i] = addr
}

// anyNode returns the address of a random node that is running, or "" if all nodes are down.
func (s *soak) anyNode() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	up := slices.DeleteFunc(slices.Clone(s.addrs), func(addr string) bool { return addr == "" })
	return append(up, "")[rand.IntN(max(1, len(up)))]
}

func (s *soak) startNode(i int) {
	s.t.Helper()
	s.nodes[i] = s.folder.Launch(exec.Command(s.binary, "serve", "--addr", "127.0.0.1:0", "--order-hold", "3s", "--webhook-allow-private"))
	s.nodes[i].AwaitReady()
	s.nodes[i].DatabaseMayFail = true
	s.setAddr(i, strings.TrimPrefix(s.nodes[i].URL, "http://"))
}

// restartNode ends a random node and starts it again. Before the node ends, the proxies forget its address,
// because another process may reuse the port.
func (s *soak) restartNode(kind string, end func(*programtest.Program)) {
	s.t.Helper()
	i := s.rng.IntN(len(s.nodes))
	s.setAddr(i, "")
	end(s.nodes[i])
	s.nodes[i].Output.Trim()
	s.injected[kind]++
	s.startNode(i)
}

func (s *soak) killNode() { s.restartNode("kill", (*programtest.Program).Kill) }
func (s *soak) stopNode() { s.restartNode("stop", (*programtest.Program).Stop) }

func (s *soak) cutConnections() {
	s.clientProxy.cutAll()
	s.streamProxy.cutAll()
}

// randomTime returns a random number of milliseconds in [from, to).
func randomTime(from, to int) time.Duration {
	return time.Duration(from+rand.IntN(to-from)) * time.Millisecond
}

// sleep waits for a random number of milliseconds in [from, to) or until the context ends.
func sleep(ctx context.Context, from, to int) {
	select {
	case <-time.After(randomTime(from, to)):
	case <-ctx.Done():
	}
}

// awaitGrowth waits until number has grown by n or a problem has been found.
func (s *soak) awaitGrowth(what string, number *atomic.Int64, n int64) {
	s.t.Helper()
	enough := number.Load() + n
	programtest.Await(s.t, what, func() bool { return number.Load() >= enough || s.failed() })
}

// startLoad starts the clients and the followers. The stop function stops them and waits until they have
// ended.
func (s *soak) startLoad() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, one := range s.load {
		running.Go(func() { one.run(ctx) })
	}
	stop = func() {
		cancel()
		running.Wait()
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
		time.Sleep(randomTime(100, 1500))
		if n < len(s.faults) { // inject each fault at least once
			s.faults[n]()
		} else {
			pick(s.rng, s.faults)()
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
		time.Sleep(randomTime(500, 1500))
		pick(s.rng, s.mildFaults)()
	}
	stop()
	s.check()
	s.awaitUsageBack(before)
	for _, node := range s.nodes {
		node.Stop()
	}
}

// check waits until no order is on hold, reads all data from every node and compares the data with what was
// recorded. It also checks that every follower receives every event exactly once and in order.
func (s *soak) check() {
	s.t.Helper()
	ctx := s.t.Context()
	var h history
	for i, node := range s.nodes {
		c := s.newClient(node.URL, node.Client)
		programtest.Await(s.t, "the last holds to expire", func() bool {
			orders, _, err := c.ListOrders(ctx, client.OrderQuery{Status: client.OrderPlaced})
			return err == nil && len(orders) == 0
		})
		h = history{operations: s.operations, events: collect(s.t, c.Events(ctx, client.EventQuery{Limit: 100})),
			pets: collect(s.t, c.Pets(ctx, client.PetQuery{Limit: 100})), orders: collect(s.t, c.Orders(ctx, client.OrderQuery{Limit: 100})),
			categories: collect(s.t, c.Categories(ctx))}
		var err error
		if h.inventory, err = c.Inventory(ctx); err != nil || len(h.orders) == 0 {
			s.t.Fatalf("got %d orders and the error %v, want orders and no error", len(h.orders), err)
		}
		for _, problem := range h.check() {
			s.problem("on node %d: %s", i, problem)
		}
	}
	results := map[opResult]int{}
	for _, op := range s.operations {
		results[op.result]++
	}
	s.t.Logf("operations: %v; %d requests got no response, and %d writes a 503; %d reads; faults: %v; %d connections cut",
		results, s.unanswered.Load(), s.unavailable.Load(), s.reads.Load(), s.injected, s.cuts.Load())
	s.t.Logf("%d events; %d animals, %d orders and %d categories exist", len(h.events), len(h.pets), len(h.orders), len(h.categories))
	if s.failed() {
		return
	}
	s.streamProxy.meanBytes.Store(0)
	s.load = s.load[soakClients:] // only the followers
	stop := s.startLoad()
	for _, f := range s.followers {
		programtest.Await(s.t, "a follower to receive the last event", func() bool { return !comesAfter(h.events[len(h.events)-1].ID, f.lastSeen()) })
	}
	stop()
	var want []string
	for _, e := range h.events {
		want = append(want, describe(e))
	}
	for i, f := range s.followers {
		if difference := cmp.Diff(want, f.seen); difference != "" {
			s.problem("follower %d, started %d times, received other events than the feed lists (-want +got):\n%s", i, f.starts, difference)
		}
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

// resourceUsage contains the resources that an idle process uses. If they grow over time, there is a leak.
type resourceUsage struct{ goroutines, descriptors, heap, resident float64 }

// usage runs the garbage collector on the first node and then reads the node's metrics.
func (s *soak) usage() resourceUsage {
	s.t.Helper()
	node := s.nodes[0]
	node.Get("/debug/pprof/heap?gc=1")
	node.Client.CloseIdleConnections()
	return resourceUsage{node.Metric("go_goroutines"), node.Metric("process_open_fds"),
		node.Metric("go_memstats_heap_inuse_bytes"), node.Metric("process_resident_memory_bytes")}
}

// awaitSteadyUsage waits until the numbers of goroutines and descriptors on the idle first node no longer
// decrease and then returns the node's resource usage.
func (s *soak) awaitSteadyUsage() (m resourceUsage) {
	s.t.Helper()
	programtest.Await(s.t, "the idle node to release its resources", func() bool {
		before := s.usage()
		time.Sleep(200 * time.Millisecond)
		m = s.usage()
		return m.goroutines >= before.goroutines && m.descriptors >= before.descriptors
	})
	return m
}

// awaitUsageBack waits until the idle first node uses about as many resources as before. The tolerance cannot
// hide a leak, because a leak grows with each of the thousands of requests.
func (s *soak) awaitUsageBack(before resourceUsage) {
	s.t.Helper()
	var after resourceUsage
	defer func() { s.t.Logf("idle before the load: %+v; after it: %+v", before, after) }()
	programtest.Await(s.t, "goroutines, descriptors and memory to be released", func() bool {
		after = s.usage()
		return after.goroutines <= before.goroutines+10 && after.descriptors <= before.descriptors+10 &&
			after.heap <= before.heap+16<<20 && after.resident <= before.resident+256<<20
	})
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
	op.sent, op.result = time.Since(s.started), lost
	s.operations = append(s.operations, op)
}

// offerForSale allows all clients to order the animal.
func (s *soak) offerForSale(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forSale = append(s.forSale[max(0, len(s.forSale)-39):], id)
}

// anyForSale returns the ID of a random animal that was offered for sale. It returns false if there is none.
func (s *soak) anyForSale(rng *rand.Rand) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.forSale) == 0 {
		return 0, false
	}
	return pick(rng, s.forSale), true
}
