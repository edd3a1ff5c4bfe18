// Package workload puts a store under load for tests that inject faults. Its clients use the whole API at the same
// time, and its followers read the event stream. They record what they sent and received, and Check compares
// these records with the store afterwards.
package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/programtest"
)

const clients, followers = 16, 3

// Load is a group of clients and followers and everything that they have recorded. The exported settings must be
// set before the first call of Start.
type Load struct {
	Seed uint64 // determines the random requests
	// If DatabaseFails is set, even reads may get a 503.
	DatabaseFails bool
	// If Pinned is set, each client uses only one node, and nothing cuts its connections. If it is not set, clients
	// reach the nodes through a proxy that cuts connections at random.
	Pinned bool
	// If Retries is not 0, nothing cuts connections, and the Go client retries each call by itself, up to this many
	// times. A call that fails in spite of its retries is a problem, unless a retry could apply the change twice.
	Retries int
	Pause   time.Duration // the average time that a client waits after each operation

	// The numbers of requests without a response, writes that got a 503, acknowledged operations, successful reads,
	// and connections that were cut.
	Unanswered, Unavailable, Acknowledged, Reads, Cuts atomic.Int64

	t       *testing.T
	started time.Time
	// Connections through clientProxy break more often than those through streamProxy.
	clientProxy, streamProxy *faultyProxy
	clients                  []*randomClient
	followers                []*follower

	mu         sync.Mutex
	nodes      []*programtest.Program // nil while a node is down
	operations []*operation
	forSale    []int64                  // the IDs of the animals that were most recently offered for sale
	longest    map[string]time.Duration // the longest duration for each kind of request
	problems   []string
}

// New returns a load for the given number of nodes. If problems have been found, the test fails with a list of them
// when it ends.
func New(t *testing.T, seed uint64, nodes int) *Load {
	t.Helper()
	l := &Load{t: t, Seed: seed, started: time.Now(), nodes: make([]*programtest.Program, nodes),
		longest: map[string]time.Duration{}}
	t.Cleanup(func() { // this cleanup runs last, because it is registered first
		if len(l.problems) > 0 {
			t.Errorf("%d problems:\n%s", len(l.problems), firstProblems(l.problems))
		}
	})
	l.clientProxy, l.streamProxy = newFaultyProxy(l, 40_000), newFaultyProxy(l, 2_000_000)
	return l
}

// SetNode makes the load use the given node as node i. If node is nil, the proxies no longer use node i. Call
// SetNode with nil before a node ends, because another process may reuse the node's port.
func (l *Load) SetNode(i int, node *programtest.Program) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes[i] = node
}

// anyNode returns the address of a random node that is running, or "" if all nodes are down.
func (l *Load) anyNode() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	up := slices.DeleteFunc(slices.Clone(l.nodes), func(node *programtest.Program) bool { return node == nil })
	if len(up) == 0 {
		return ""
	}
	return strings.TrimPrefix(up[rand.IntN(len(up))].URL, "http://")
}

// clientURL returns the URL that a client uses.
func (l *Load) clientURL(id int) string {
	if l.Pinned {
		return l.nodes[id%len(l.nodes)].URL
	}
	return l.clientProxy.url()
}

func (l *Load) newClient(url string, h *http.Client, options ...client.Option) *client.Client {
	l.t.Helper()
	c, err := client.New(url+"/v1", programtest.AdminKey, append(options, client.WithHTTPClient(h))...)
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

// CutConnections closes all connections through the proxies.
func (l *Load) CutConnections() {
	l.clientProxy.cutAll()
	l.streamProxy.cutAll()
}

// Start starts the clients and the followers. The stop function stops them and waits until they have ended.
// The next call of Start resumes the same clients and followers.
func (l *Load) Start() (stop func()) {
	l.t.Helper()
	if l.clients == nil {
		for i := range clients {
			l.clients = append(l.clients, newRandomClient(l, i))
		}
		for range followers {
			l.followers = append(l.followers, newFollower(l))
		}
		if l.Retries > 0 {
			l.clientProxy.meanBytes.Store(0)
		}
		if l.Pinned || l.Retries > 0 {
			l.streamProxy.meanBytes.Store(0)
		}
	}
	var all []func(context.Context)
	for _, c := range l.clients {
		all = append(all, c.run)
	}
	return l.start(append(all, l.followAll()...))
}

// followAll returns the functions that run the followers.
func (l *Load) followAll() (all []func(context.Context)) {
	for _, f := range l.followers {
		all = append(all, f.run)
	}
	return all
}

func (l *Load) start(all []func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range all {
		running.Go(func() { run(ctx) })
	}
	stop = func() {
		cancel()
		running.Wait()
	}
	l.t.Cleanup(stop) // this cleanup stops the load if the test ends early
	return stop
}

// Elapsed returns the time since the load was created.
func (l *Load) Elapsed() time.Duration { return time.Since(l.started) }

// RandomTime returns a random number of milliseconds in [from, to).
func RandomTime(from, to int) time.Duration {
	return time.Duration(from+rand.IntN(to-from)) * time.Millisecond
}

// sleep waits for a random number of milliseconds in [from, to) or until the context ends.
func sleep(ctx context.Context, from, to int) {
	select {
	case <-time.After(RandomTime(from, to)):
	case <-ctx.Done():
	}
}

// Problem records a failure. The test reports all failures when it ends.
func (l *Load) Problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// Failed reports whether a problem has been recorded.
func (l *Load) Failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.problems) > 0
}

// recordOperation records an operation before it is sent.
func (l *Load) recordOperation(op *operation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	op.sent, op.result = l.Elapsed(), lost
	l.operations = append(l.operations, op)
}

// RecordPet records that the test itself has added an animal with a unique name.
func (l *Load) RecordPet(name string, id int64) {
	op := &operation{eventKey: "add " + name, subject: fmt.Sprint("pets/", id)}
	l.recordOperation(op)
	op.responded, op.result = op.sent, done
}

// RecordImport records that the test itself has imported animals with unique names.
func (l *Load) RecordImport(names []string) {
	for _, name := range names {
		op := &operation{eventKey: "add " + name, batch: names[0]}
		l.recordOperation(op)
		op.responded, op.result = op.sent, done
	}
}

// offerForSale allows all clients to order the animal.
func (l *Load) offerForSale(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forSale = append(l.forSale[max(0, len(l.forSale)-39):], id)
}

// anyForSale returns the ID of a random animal that was offered for sale. It returns false if there is none.
func (l *Load) anyForSale(rng *rand.Rand) (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.forSale) == 0 {
		return 0, false
	}
	return pick(rng, l.forSale), true
}
