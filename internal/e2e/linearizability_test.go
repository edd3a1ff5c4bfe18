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
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// TestNodesAreLinearizable lets many clients order, cancel, change and look at the same few animals on all nodes, while
// nodes are killed and started again. What each of them was answered, and when, must fit into one order of events for each
// animal, as if there were one store that does one thing at a time.
func TestNodesAreLinearizable(t *testing.T) {
	t.Parallel()
	const nodes, clients, animals, operations, kills = 3, 8, 4, 4000, 12
	f, _ := newSharedFolder(t)
	c := &workload{t: t, nodes: f.servePatientNodes(nodes), start: time.Now(), operations: operations}
	for range animals {
		rex, _ := c.nodes[0].create(pet{Name: "Rex", CategoryID: 1, Status: "available"})
		c.pets = append(c.pets, &contestedPet{id: rex.ID})
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait) // also where the test gives up: its context has ended then
	for i := range clients {
		running.Go(func() { c.runClient(i) })
	}
	for kill := range kills {
		await(t, "the clients", func() bool {
			return c.done.Load() > int64(operations*(kill+1)/(kills+1)) || c.failed.Load()
		})
		if c.failed.Load() {
			break
		}
		victims := []int{kill % nodes}
		if kill%3 == 2 {
			victims = append(victims, (kill+1)%nodes)
		}
		c.replaceNodes(f, victims)
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
	duration := time.Since(c.start)
	for _, node := range c.nodes { // all of them must agree in the end
		c.recordFinalState(node)
	}

	history := c.history
	checkStart := time.Now()
	verdict, info := porcupine.CheckOperationsVerbose(animalModel, history, 5*patience)
	t.Logf("%d operations in %v (%d done, %d refused, %d unknown of which %d were answered 503; %d sent again), %d kills; checked in %v: %s", len(history),
		duration, c.accepted, c.refused, c.lost, c.unavailable, c.retried, kills, time.Since(checkStart), verdict)
	if verdict != porcupine.Ok {
		path := filepath.Join(t.ArtifactDir(), "history.html")
		t.Errorf("the history is not linearizable; %s shows it (with -artifacts it is kept): %v", path, porcupine.VisualizePath(animalModel, info, path))
	}
	if c.accepted == 0 || c.refused == 0 || c.lost == 0 {
		t.Error("not everything has happened that this test is for")
	}
}

// workload is many clients of all nodes, and what they have seen.
type workload struct {
	t          *testing.T
	start      time.Time
	operations int // that are made in all

	started, done, orders atomic.Int64
	failed                atomic.Bool

	mu                                            sync.Mutex
	nodes                                         []*program
	pets                                          []*contestedPet
	history                                       []porcupine.Operation
	accepted, refused, lost, unavailable, retried int
}

// contestedPet is an animal that all want.
type contestedPet struct {
	id      int64
	order   int   // the newest that somebody has seen, by its number
	orderID int64 // and by its id
}

// replaceNodes kills nodes, with all that they are doing, and starts others in their place.
func (c *workload) replaceNodes(f *folder, victims []int) {
	c.t.Helper()
	for _, i := range victims {
		c.nodes[i].kill()
		c.setNode(i, nil) // its port may be somebody else's from now on
	}
	for i, node := range f.servePatientNodes(len(victims)) {
		c.setNode(victims[i], node)
	}
}

func (c *workload) setNode(i int, node *program) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[i] = node
}

// anyNode returns one of the nodes that are there.
func (c *workload) anyNode(rng *rand.Rand) *program {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if node := c.nodes[rng.IntN(len(c.nodes))]; node != nil {
			return node
		}
	}
}

// runClient makes operations until there are enough.
func (c *workload) runClient(id int) {
	rng := rand.New(rand.NewPCG(1, uint64(id)))
	for c.started.Add(1) <= int64(c.operations) {
		in, orderID := c.chooseStep(rng)
		// It begins with the first attempt: net/http itself sends an order again where a connection breaks, because of the
		// idempotency key, and all that it says may then be that the second attempt found nobody.
		from := time.Since(c.start)
		for !c.perform(id, rng, in, orderID, from) {
			if c.t.Context().Err() != nil || c.failed.Load() {
				return
			}
		}
		c.done.Add(1)
	}
}

// chooseStep picks what to do next, and the id of the order that it is done with.
func (c *workload) chooseStep(rng *rand.Rand) (in step, orderID int64) {
	in.pet = rng.IntN(len(c.pets))
	c.mu.Lock()
	known := *c.pets[in.pet]
	c.mu.Unlock()
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	switch roll := rng.IntN(100); {
	case roll < 35:
		in.kind, in.order = place, int(c.orders.Add(1))
	case roll < 70 && known.orderID != 0:
		in.kind, in.order, in.to = move, known.order, pick("approved", "approved", "delivered", "cancelled", "cancelled")
	case roll < 80:
		in.kind, in.to = set, pick("available", "available", "pending", "sold")
	case roll < 90:
		in.kind = look
	default:
		in.kind = newest
	}
	return in, known.orderID
}

// perform makes one operation on some node and records it. It returns false where nobody was there, and it is to be made again.
func (c *workload) perform(client int, rng *rand.Rand, in step, orderID int64, from time.Duration) (made bool) {
	a, err := c.send(c.anyNode(rng), in, orderID)
	if err != nil && in.kind == place && rng.IntN(2) == 0 && !isRefusedConnection(err) {
		// Some ask again, elsewhere; the idempotency key that every order has makes that the same operation.
		if again, err2 := c.send(c.anyNode(rng), in, orderID); err2 == nil {
			a, err = again, nil
		}
	}
	to := time.Since(c.start)
	c.mu.Lock()
	defer c.mu.Unlock()
	if isRefusedConnection(err) {
		c.retried++
		return false
	}
	out := unknown
	if err == nil {
		if out, err = c.parse(in, a); err != nil {
			c.failed.Store(true)
			c.t.Errorf("%+v: %v", in, err)
			return false
		}
	}
	switch {
	case out == unknown:
		c.lost++
		if a.status != 0 {
			c.unavailable++
		}
		if in.kind == look || in.kind == newest {
			return true // it says nothing
		}
		to = math.MaxInt64
	case out.code == "":
		c.accepted++
	default:
		c.refused++
	}
	c.history = append(c.history, porcupine.Operation{ClientId: client, Input: in, Call: int64(from), Output: out, Return: int64(to)})
	return true
}

// send sends what a step asks for.
func (c *workload) send(node *program, in step, orderID int64) (answer, error) {
	id := c.pets[in.pet].id
	switch in.kind {
	case place:
		return node.try("POST", "/v1/store/orders", adminKey, fmt.Sprintf(`{"petId":%d,"reference":"%d"}`, id, in.order),
			fmt.Sprintf("Idempotency-Key: order %d", in.order))
	case move:
		return node.try("PATCH", fmt.Sprintf("/v1/store/orders/%d", orderID), adminKey, fmt.Sprintf(`{"status":%q}`, in.to))
	case set:
		return node.try("PATCH", fmt.Sprintf("/v1/pets/%d", id), adminKey, fmt.Sprintf(`{"status":%q}`, in.to))
	case look:
		return node.try("GET", fmt.Sprintf("/v1/pets?id=%d", id), adminKey, "")
	default:
		return node.try("GET", fmt.Sprintf("/v1/store/orders?petId=%d&limit=1", id), adminKey, "")
	}
}

// parse reads an answer. Who has learnt of a new order tells all others.
func (c *workload) parse(in step, a answer) (outcome, error) {
	switch a.status {
	case http.StatusServiceUnavailable:
		return unknown, nil
	case http.StatusConflict:
		var e struct{ Code string }
		err := json.Unmarshal([]byte(a.body), &e)
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
	if in.kind == look || in.kind == newest {
		err = json.Unmarshal([]byte(a.body), &list)
	} else {
		err = json.Unmarshal([]byte(a.body), &list[0])
	}
	switch {
	case err == nil && len(list) == 0 && in.kind == newest:
		return outcome{}, nil // no order yet
	case err != nil || len(list) != 1:
		return outcome{}, fmt.Errorf("got %v", a)
	}
	got := list[0]
	if in.kind == look || in.kind == set {
		return outcome{status: got.Status}, nil
	}
	order, err := strconv.Atoi(got.Reference)
	if known := c.pets[in.pet]; got.ID > known.orderID {
		known.order, known.orderID = order, got.ID
	}
	return outcome{order: order, status: got.Status}, err
}

// isRefusedConnection tells whether nobody was there to be asked.
func isRefusedConnection(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "dial"
}

// recordFinalState records what a node shows when all is over, and compares it with its inventory.
func (c *workload) recordFinalState(node *program) {
	c.t.Helper()
	type inventory struct{ Available, Pending, Sold, Unspecified int }
	var counted inventory
	for i := range c.pets {
		for _, kind := range []stepKind{look, newest} {
			in := step{kind: kind, pet: i}
			from := time.Since(c.start)
			a, err := c.send(node, in, 0)
			if err != nil {
				c.t.Fatal(err)
			}
			out, err := c.parse(in, a)
			if err != nil || out == unknown {
				c.t.Fatalf("%v: %v", a, err)
			}
			c.history = append(c.history, porcupine.Operation{Input: in, Call: int64(from), Output: out, Return: int64(time.Since(c.start))})
			switch {
			case kind == newest:
			case out.status == "available":
				counted.Available++
			case out.status == "pending":
				counted.Pending++
			case out.status == "sold":
				counted.Sold++
			}
		}
	}
	if got := decode[inventory](c.t, node.get("/v1/store/inventory").body); got != counted {
		c.t.Errorf("the inventory says %+v, the animals say %+v", got, counted)
	}
}
