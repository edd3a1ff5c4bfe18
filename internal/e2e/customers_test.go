package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

// customers is a group of clients that create and order animals on all nodes while the database fails over.
type customers struct {
	t       *testing.T
	nodes   []*programtest.Program
	running sync.WaitGroup
	ended   atomic.Bool
	writes  atomic.Int64 // the number of acknowledged writes
	last    atomic.Int64 // the ID of the last acknowledged animal

	mu         sync.Mutex
	ledger     *ledger
	orders     map[string]int64 // the animal IDs in acknowledged orders, by order reference
	sent       map[string]bool  // the references in all orders that were sent
	refused    int              // the number of responses with status 503
	unanswered int              // the number of requests that got no response
}

func startCustomers(t *testing.T, n int, nodes []*programtest.Program) *customers {
	t.Helper()
	c := &customers{t: t, nodes: nodes, ledger: newLedger(), orders: map[string]int64{}, sent: map[string]bool{}}
	for i := range n {
		c.running.Go(func() { c.customer(i) })
	}
	t.Cleanup(c.stop)
	return c
}

func (c *customers) stop() {
	c.ended.Store(true)
	c.running.Wait()
}

// customer creates animals one after another until the test ends. It orders each new animal and also the
// animal that was created last by any customer, for which several customers may compete.
func (c *customers) customer(i int) {
	node := c.nodes[i%len(c.nodes)]
	retries := i%2 == 0
	for n := 0; !c.ended.Load(); n++ {
		want := programtest.Pet{Name: fmt.Sprintf("animal %d of customer %d", n, i), CategoryID: int64(n % 3), Status: "available"}
		c.mu.Lock()
		c.ledger.sent[want.Name] = want
		c.mu.Unlock()
		a, done := c.post(node, retries, "/v1/pets", want.JSON(), want.Name)
		if !done || a.Status != http.StatusCreated {
			continue
		}
		var got programtest.Pet
		if err := json.Unmarshal([]byte(a.Body), &got); err != nil {
			c.t.Errorf("cannot decode the response: %v in %v", err, a)
			return
		}
		c.mu.Lock()
		c.ledger.acknowledged[got.ID] = got
		c.mu.Unlock()
		other := c.last.Swap(got.ID)
		for k, id := range []int64{got.ID, other} {
			if id == 0 {
				continue
			}
			reference := fmt.Sprintf("order %d.%d of customer %d", n, k, i)
			c.mu.Lock()
			c.sent[reference] = true
			c.mu.Unlock()
			a, done := c.post(node, retries, "/v1/store/orders", fmt.Sprintf(`{"petId":%d,"reference":%q}`, id, reference), reference)
			if done && a.Status == http.StatusCreated {
				c.mu.Lock()
				c.orders[reference] = id
				c.mu.Unlock()
			}
		}
	}
}

// post sends a request and reports whether it got a final response. If retries is set, it repeats the request
// with the same idempotency key until it gets a final response or the test ends.
func (c *customers) post(node *programtest.Program, retries bool, path, body, key string) (programtest.Response, bool) {
	var fields []string
	if retries {
		fields = []string{"Idempotency-Key: " + key}
	}
	for {
		a, err := node.Try("POST", path, programtest.AdminKey, body, fields...)
		switch {
		case err != nil:
			c.mu.Lock()
			c.unanswered++
			c.mu.Unlock()
		case a.Status == http.StatusServiceUnavailable:
			if a.Header.Get("Retry-After") == "" || !strings.Contains(a.Body, `"unavailable"`) {
				c.t.Errorf("%s: got %v, want the code unavailable and Retry-After", body, a)
			}
			c.mu.Lock()
			c.refused++
			c.mu.Unlock()
		case a.Status == http.StatusCreated:
			c.writes.Add(1)
			return a, true
		case a.Status == http.StatusConflict && strings.Contains(a.Body, "idempotency_key_in_use"):
		case a.Status == http.StatusConflict:
			return a, true
		default:
			c.t.Errorf("%s: got %v, want status 201, 409 or 503", body, a)
			return a, true
		}
		if !retries || c.ended.Load() {
			return programtest.Response{}, false
		}
		// The pause is much shorter than the Retry-After header says, so that the test is fast.
		time.Sleep(20 * time.Millisecond)
	}
}

func (c *customers) awaitWrites(n int64) {
	c.t.Helper()
	target := c.writes.Load() + n
	programtest.Await(c.t, fmt.Sprintf("%d more acknowledged writes", n), func() bool { return c.writes.Load() >= target })
}

// order is the JSON representation of an order.
type order struct {
	ID        int64  `json:"id"`
	PetID     int64  `json:"petId"`
	Status    string `json:"status"`
	Reference string `json:"reference"`
}

// check compares the animals and orders on every node with the customers' records.
func (c *customers) check() {
	c.t.Helper()
	for _, node := range c.nodes {
		animals := node.Walk()
		status := map[int64]string{}
		for i := range animals {
			status[animals[i].ID] = animals[i].Status
			animals[i].Status = "available" // the status with which every animal was created
		}
		c.ledger.check(c.t, animals)
		holders, references := map[int64]string{}, map[string]int64{}
		for _, o := range programtest.Pages[order](node, "/v1/store/orders?limit=100") {
			if holders[o.PetID] != "" || o.Status != "placed" || status[o.PetID] != "pending" {
				c.t.Errorf("%+v: animal is %q and held by %q, want one placed order of a pending animal", o, status[o.PetID], holders[o.PetID])
			}
			if _, twice := references[o.Reference]; twice || !c.sent[o.Reference] {
				c.t.Errorf("%+v is stored twice, or no customer sent it", o)
			}
			holders[o.PetID], references[o.Reference] = o.Reference, o.PetID
		}
		for reference, id := range c.orders {
			if references[reference] != id {
				c.t.Errorf("animal of the acknowledged order %q: got %d, want %d", reference, references[reference], id)
			}
		}
		for id, petStatus := range status {
			if (petStatus == "pending") != (holders[id] != "") {
				c.t.Errorf("animal %d is %s and held by %q, want pending exactly if held", id, petStatus, holders[id])
			}
		}
	}
}
