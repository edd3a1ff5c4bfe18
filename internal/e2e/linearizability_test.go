package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// TestNodesAreLinearizable lets many clients order, cancel, change and read the same few animals on all nodes
// while it kills and restarts nodes. For each animal, there must be one sequence of operations that explains
// all responses and is consistent with their times.
func TestNodesAreLinearizable(t *testing.T) {
	t.Parallel()
	w := newWorkload(newSharedFolder(t), 30)
	w.run(w.killNodes(0), w.killNodes(1), w.killNodes(2, 0), w.killNodes(0), w.killNodes(1), w.killNodes(2, 0))
}

// TestCachedReadsAreLinearizable is like TestNodesAreLinearizable, but most operations are reads, which the nodes can
// answer from memory. The test also kills the whole database server or only its checkpointer. After either crash, the
// server reuses the ids of lost transactions for new transactions.
func TestCachedReadsAreLinearizable(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	w := newWorkload(programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+server.URL()), 85)
	crash := func(crash func()) func() {
		return func() {
			crash()
			w.awaitCaches()
		}
	}
	w.awaitCaches()
	w.run(
		crash(func() { server.KillCheckpointer(t) }),
		w.killNodes(1),
		crash(func() {
			server.Kill(t)
			server.Restart(t)
		}),
		crash(func() { server.KillCheckpointer(t) }),
	)
}

// newWorkload starts three nodes for a workload in which the given percentage of the operations are reads.
func newWorkload(f *programtest.Folder, reads int) *workload {
	f.T.Helper()
	const nodes, animals = 3, 4
	w := &workload{
		t: f.T, folder: f, reads: reads, start: time.Now(), operations: 2000, nodes: make([]atomic.Pointer[programtest.Program], nodes),
	}
	for i, node := range serveNodesUnderLoad(f, nodes) {
		w.nodes[i].Store(node)
	}
	for range animals {
		rex, _ := w.nodes[0].Load().Create(programtest.Pet{Name: "Rex", CategoryID: 1, Status: "available"})
		w.pets = append(w.pets, &contestedPet{id: rex.ID})
	}
	return w
}

// killNodes returns a function that kills nodes and starts new ones.
func (w *workload) killNodes(victims ...int) func() {
	return func() {
		for _, i := range victims {
			// Swap first, so that no client uses the node's port after the node has exited. Another process may take
			// the port.
			w.nodes[i].Swap(nil).Kill()
		}
		for i, node := range serveNodesUnderLoad(w.folder, len(victims)) {
			w.nodes[victims[i]].Store(node)
		}
	}
}

// awaitCaches waits until all nodes can use cached responses.
func (w *workload) awaitCaches() {
	w.t.Helper()
	for i := range w.nodes {
		node := w.nodes[i].Load()
		programtest.Await(w.t, "the response cache", func() bool {
			node.Try("GET", "/v1/pets", programtest.AdminKey, "")
			a, err := node.Try("GET", "/metrics", programtest.AdminKey, "")
			return err == nil && strings.Contains(a.Body, "\nanimalstore_postgres_response_cache_usable 1\n")
		})
	}
}

// run starts the clients and calls the disturbances one after another while the clients work. Then it checks the
// history.
func (w *workload) run(disturbances ...func()) {
	t := w.t
	t.Helper()
	const clients = 8
	var running sync.WaitGroup
	// If the test ends early, its context is cancelled, which stops the clients.
	t.Cleanup(running.Wait)
	for i := range clients {
		running.Go(func() { w.runClient(i) })
	}
	for i, disturb := range disturbances {
		programtest.Await(t, "the clients' operations", func() bool {
			return w.done.Load() > int64(w.operations*(i+1)/(len(disturbances)+1)) || t.Failed()
		})
		disturb()
	}
	running.Wait()
	for i := range w.nodes { // all nodes must have the same final state
		w.recordFinalState(w.nodes[i].Load())
	}
	if t.Failed() {
		t.FailNow()
	}
	verdict, info := porcupine.CheckOperationsVerbose(animalModel, w.history, 5*programtest.WaitTimeout)
	t.Logf("%d operations, %d acknowledged, %d refused, %d kills: %s", len(w.history), w.accepted, w.refused, len(disturbances), verdict)
	if verdict != porcupine.Ok {
		path := filepath.Join(t.ArtifactDir(), "history.html")
		err := porcupine.VisualizePath(animalModel, info, path)
		t.Errorf("the history is not linearizable; see %s (kept with -artifacts): %v", path, err)
	}
	if w.accepted == 0 || w.refused == 0 {
		t.Errorf("%d operations were acknowledged and %d refused: want some of each", w.accepted, w.refused)
	}
}

// workload is the state shared by the clients, including the history of their operations.
type workload struct {
	t                     *testing.T
	folder                *programtest.Folder
	reads                 int // the percentage of reads
	start                 time.Time
	operations            int // the total number of operations
	started, done, orders atomic.Int64
	nodes                 []atomic.Pointer[programtest.Program] // nil while a node is down

	mu                sync.Mutex
	pets              []*contestedPet
	history           []porcupine.Operation
	accepted, refused int
}

// contestedPet is an animal for which all clients compete.
type contestedPet struct {
	id      int64
	order   int   // the reference of the newest order that any client has seen
	orderID int64 // the ID of the newest order that any client has seen
}

// runClient performs operations until all clients together have started the required number.
func (w *workload) runClient(id int) {
	rng := rand.New(rand.NewPCG(1, uint64(id)))
	anyNode := func() *programtest.Program {
		for {
			if node := w.nodes[rng.IntN(len(w.nodes))].Load(); node != nil {
				return node
			}
		}
	}
	for w.started.Add(1) <= int64(w.operations) {
		in, orderID := w.chooseStep(rng)
		// The operation begins with the first attempt. An order has an idempotency key, so net/http
		// automatically retries it if the connection breaks. The error may then say only that the second
		// connection was refused, although the first attempt may have taken effect.
		from := time.Since(w.start)
		a, err := w.send(anyNode(), in, orderID)
		for isRefusedConnection(err) && w.t.Context().Err() == nil && !w.t.Failed() {
			a, err = w.send(anyNode(), in, orderID)
		}
		if err != nil && in.kind == placeOrder && rng.IntN(2) == 0 {
			// Half of the orders are retried on another node. A retry with the same idempotency key is still the
			// same operation.
			if again, err2 := w.send(anyNode(), in, orderID); err2 == nil {
				a, err = again, nil
			}
		}
		w.record(id, in, a, err, from)
		w.done.Add(1)
	}
}

// chooseStep randomly chooses the next step and returns the ID of the newest order for the chosen animal.
func (w *workload) chooseStep(rng *rand.Rand) (in step, orderID int64) {
	in.pet = rng.IntN(len(w.pets))
	w.mu.Lock()
	known := *w.pets[in.pet]
	w.mu.Unlock()
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	if rng.IntN(100) < w.reads {
		in.kind, in.path = readStatus, pick("/v1/pets?id=%d", "/v1/pets/%d", "/v1/pets?limit=100")
		if rng.IntN(3) == 0 {
			in.kind, in.path = readNewestOrder, "/v1/store/orders?petId=%d&limit=1"
		}
		return in, known.orderID
	}
	switch roll := rng.IntN(80); {
	case roll < 35:
		in.kind, in.order = placeOrder, int(w.orders.Add(1))
	case roll < 70 && known.orderID != 0:
		in.kind, in.order, in.to = moveOrder, known.order, pick("approved", "approved", "delivered", "cancelled", "cancelled")
	default:
		in.kind, in.to = setStatus, pick("available", "available", "pending", "sold")
	}
	return in, known.orderID
}

// record adds one operation to the history.
func (w *workload) record(client int, in step, a programtest.Response, err error, from time.Duration) {
	to := time.Since(w.start)
	w.mu.Lock()
	defer w.mu.Unlock()
	out := unknown
	if err == nil {
		if out, err = w.parse(in, a); err != nil {
			w.t.Errorf("%+v: %v", in, err)
		}
	}
	switch {
	case out == unknown && (in.kind == readStatus || in.kind == readNewestOrder):
		return // a read without a response proves nothing
	case out == unknown:
		to = math.MaxInt64
	case out.code == "":
		w.accepted++
	default:
		w.refused++
	}
	operation := porcupine.Operation{ClientId: client, Input: in, Call: int64(from), Output: out, Return: int64(to)}
	w.history = append(w.history, operation)
}

func (w *workload) send(node *programtest.Program, in step, orderID int64) (programtest.Response, error) {
	id := w.pets[in.pet].id
	switch in.kind {
	case placeOrder:
		return node.Try("POST", "/v1/store/orders", programtest.AdminKey, fmt.Sprintf(`{"petId":%d,"reference":"%d"}`, id, in.order),
			fmt.Sprintf("Idempotency-Key: order %d", in.order))
	case moveOrder:
		return node.Try("PATCH", fmt.Sprintf("/v1/store/orders/%d", orderID), programtest.AdminKey, fmt.Sprintf(`{"status":%q}`, in.to))
	case setStatus:
		return node.Try("PATCH", fmt.Sprintf("/v1/pets/%d", id), programtest.AdminKey, fmt.Sprintf(`{"status":%q}`, in.to))
	default:
		path := in.path
		if strings.Contains(path, "%") {
			path = fmt.Sprintf(path, id)
		}
		return node.Try("GET", path, programtest.AdminKey, "")
	}
}

// parse returns the outcome reported by a response. It stores the newest order for each animal so that all
// clients can use it.
func (w *workload) parse(in step, a programtest.Response) (outcome, error) {
	switch a.Status {
	case http.StatusServiceUnavailable:
		return unknown, nil
	case http.StatusConflict:
		var e struct{ Code string }
		err := json.Unmarshal([]byte(a.Body), &e)
		return outcome{code: e.Code}, err
	case http.StatusOK, http.StatusCreated:
	default:
		return outcome{}, fmt.Errorf("got %v", a)
	}
	type object struct { // an animal or an order
		ID                int64
		Reference, Status string
	}
	var err error
	list := make([]object, 1)
	if strings.HasPrefix(a.Body, "[") {
		err = json.Unmarshal([]byte(a.Body), &list)
	} else {
		err = json.Unmarshal([]byte(a.Body), &list[0])
	}
	if in.kind == readStatus { // the page may also contain other animals
		list = slices.DeleteFunc(list, func(o object) bool { return o.ID != w.pets[in.pet].id })
	}
	switch {
	case err == nil && len(list) == 0 && in.kind == readNewestOrder:
		return outcome{}, nil // the animal has no order yet
	case err != nil || len(list) != 1:
		return outcome{}, fmt.Errorf("got %v", a)
	}
	got := list[0]
	if in.kind == readStatus || in.kind == setStatus {
		return outcome{status: got.Status}, nil
	}
	order, err := strconv.Atoi(got.Reference)
	if known := w.pets[in.pet]; got.ID > known.orderID {
		known.order, known.orderID = order, got.ID
	}
	return outcome{order: order, status: got.Status}, err
}

// isRefusedConnection reports whether the connection was refused, which means that no request was sent.
func isRefusedConnection(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "dial"
}

// recordFinalState records the state of every animal on a node and compares the states with the node's
// inventory.
func (w *workload) recordFinalState(node *programtest.Program) {
	w.t.Helper()
	checkInventory(node)
	for i := range w.pets {
		for _, in := range []step{
			{kind: readStatus, path: "/v1/pets/%d"}, {kind: readStatus, path: "/v1/pets?limit=100"},
			{kind: readNewestOrder, path: "/v1/store/orders?petId=%d&limit=1"},
		} {
			in.pet = i
			from := time.Since(w.start)
			a, err := w.send(node, in, 0)
			if err != nil || a.Status != http.StatusOK {
				w.t.Fatalf("%+v: got %v, %v, want status 200", in, a, err)
			}
			w.record(0, in, a, nil, from)
		}
	}
}
