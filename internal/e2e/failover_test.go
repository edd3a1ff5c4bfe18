package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// newNodes starts n nodes at the same time, all on the same database.
func newNodes(t *testing.T, n int, database string) []*programtest.Program {
	t.Helper()
	var nodes []*programtest.Program
	for range n {
		f := programtest.NewFolder(t, "ANIMALSTORE_API_KEY="+programtest.AdminKey, "ANIMALSTORE_DATABASE="+database)
		nodes = append(nodes, f.Start())
	}
	for _, node := range nodes {
		node.AwaitReady()
	}
	return nodes
}

// allNodesReport reports whether every node responds to a /readyz request with the given status.
func allNodesReport(t *testing.T, nodes []*programtest.Program, status int) bool {
	t.Helper()
	var requests sync.WaitGroup
	var matching atomic.Int64
	for _, node := range nodes {
		requests.Go(func() {
			a, err := node.Try("GET", "/readyz", programtest.AdminKey, "")
			if err != nil {
				t.Error(err)
			}
			if a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "" {
				t.Errorf("503 without Retry-After: %v", a)
			}
			if a.Status == status {
				matching.Add(1)
			}
		})
	}
	requests.Wait()
	return matching.Load() == int64(len(nodes))
}

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
	outage     outage
}

// outage records when the primary was killed, when the replica was promoted, and when a write first succeeded
// again.
type outage struct{ killed, promoted, recovered time.Time }

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
		begun := time.Now()
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
			c.mu.Lock()
			if !c.outage.promoted.IsZero() && c.outage.recovered.IsZero() && begun.After(c.outage.killed) {
				c.outage.recovered = time.Now()
			}
			c.mu.Unlock()
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
		for _, o := range walkOrders(node) {
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

func walkOrders(p *programtest.Program) []order {
	p.T.Helper()
	var all []order
	for url := "/v1/store/orders?limit=100"; url != ""; {
		a := p.Get(url)
		all = append(all, programtest.Decode[[]order](p.T, a.Body)...)
		url = ""
		if next := programtest.NextPage.FindStringSubmatch(a.Header.Get("Link")); next != nil {
			url = next[1]
		}
	}
	return all
}

// TestFailoverKeepsAcknowledgedWrites kills the primary while three nodes use it and promotes its synchronous
// replica. No acknowledged write may be lost, nothing may be stored twice, and the nodes must recover without
// intervention.
func TestFailoverKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	testFailover(t, func(primary, replica *pgtest.Server, c *customers) {
		primary.Kill(t)
		programtest.Await(t, "all nodes to be not ready", func() bool { return allNodesReport(t, c.nodes, http.StatusServiceUnavailable) })
		replica.Promote(t)
	})
}

// TestFailoverDuringCommitsKeepsAcknowledgedWrites kills the primary while its commits are waiting for a
// stopped replica. Only the primary has the data from these commits, so none of them may have been
// acknowledged.
func TestFailoverDuringCommitsKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	testFailover(t, func(primary, replica *pgtest.Server, c *customers) {
		replica.Stop(t)
		c.awaitCommits(primary)
		primary.Kill(t)
		replica.Restart(t)
		replica.Promote(t)
	})
}

// testFailover runs customers while switchOver replaces the primary with its replica.
func testFailover(t *testing.T, switchOver func(primary, replica *pgtest.Server, c *customers)) {
	t.Helper()
	const before, after = 150, 150
	primary, replica := pgtest.StartWithReplica(t, true)
	nodes := newNodes(t, 3, pgtest.FailoverURL(primary, replica))
	for _, node := range nodes {
		node.DatabaseMayFail = true
	}
	c := startCustomers(t, 9, nodes)
	c.awaitWrites(before)
	c.mu.Lock()
	c.outage.killed = time.Now()
	c.mu.Unlock()
	switchOver(primary, replica, c)
	c.mu.Lock()
	c.outage.promoted = time.Now()
	c.mu.Unlock()
	programtest.Await(t, "all nodes to be ready", func() bool { return allNodesReport(t, nodes, http.StatusOK) })
	c.awaitWrites(after)
	c.stop()
	c.check()
	t.Logf("writes: %d acknowledged, %d refused, %d without a response", c.writes.Load(), c.refused, c.unanswered)
	t.Logf("outage: %v, of which %v after the promotion", c.outage.recovered.Sub(c.outage.killed).Round(time.Millisecond),
		c.outage.recovered.Sub(c.outage.promoted).Round(time.Millisecond))
}

// awaitCommits waits until at least three commits on the primary are waiting for the replica. Other
// transactions conflict with these commits and fail, so there may never be three. Therefore, one commit is
// enough once a request has been refused.
func (c *customers) awaitCommits(primary *pgtest.Server) {
	c.t.Helper()
	db, err := sql.Open("pgx", primary.URL())
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	refused := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.refused
	}
	before := refused()
	programtest.Await(c.t, "commits that wait for the replica", func() bool {
		var waiting int
		if err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&waiting); err != nil {
			c.t.Fatal(err)
		}
		return waiting >= 3 || waiting >= 1 && refused() > before
	})
}

// TestStartFailsWhenDatabaseIsUnreachable starts the program with a database server that never responds and
// with one whose port is closed. The program must retry for a while and then exit with an error that names
// the address.
func TestStartFailsWhenDatabaseIsUnreachable(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // this server accepts connections but never responds
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	// No process listens on port 1. In contrast, another process might take a port that was free a moment
	// ago.
	const closed = "127.0.0.1:1"
	var running sync.WaitGroup
	for _, addr := range []string{silent.Addr().String(), closed} {
		f := programtest.NewFolder(t, "ANIMALSTORE_API_KEY="+programtest.AdminKey,
			"ANIMALSTORE_DATABASE=postgres://animalstore:hunter2@"+addr+"/animalstore?sslmode=disable")
		running.Go(func() {
			start := time.Now()
			r := f.Run("serve", "--addr", "127.0.0.1:0")
			programtest.ExpectRefusal(t, r, 1, "cannot open the database", addr)
			if strings.Contains(r.Stderr, "hunter2") {
				t.Errorf("the password is in the error message %q", r.Stderr)
			}
			t.Logf("after %v: %s", time.Since(start).Round(time.Second), r.Stderr)
		})
	}
	running.Wait()
}

// TestStartWaitsForDatabase starts the program before its database, as may happen when several machines boot
// at the same time.
func TestStartWaitsForDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	server.Stop(t)
	f := programtest.NewFolder(t, "ANIMALSTORE_API_KEY="+programtest.AdminKey, "ANIMALSTORE_DATABASE="+server.URL())
	p := f.Start()
	server.Restart(t)
	p.AwaitReady()
	p.Create(programtest.Pet{Name: "Rex"})
}

// TestRequestsGet503WhileDatabaseIsUnreachable interrupts the connection between a running program and its
// database and later restores the connection.
func TestRequestsGet503WhileDatabaseIsUnreachable(t *testing.T) {
	t.Parallel()
	proxy := pgtest.StartProxy(t, pgtest.Shared(t).NewDatabase(t))
	f := programtest.NewFolder(t, "ANIMALSTORE_API_KEY="+programtest.AdminKey, "ANIMALSTORE_DATABASE="+proxy.URL())
	p := f.Serve()
	p.DatabaseMayFail = true
	key := f.CreateKey("--name", "partner")
	// The key is well formed but belongs to another store.
	foreignKey := programtest.NewFolder(t).CreateKey("--name", "stranger")
	p.Create(programtest.Pet{Name: "Rex", Status: "available"})

	requests := []struct{ method, path, key, body string }{
		{"GET", "/v1/pets", key, ""},
		{"GET", "/v1/pets", programtest.AdminKey, ""},
		{"GET", "/v1/pets/1", key, ""},
		{"GET", "/v1/store/inventory", key, ""},
		{"GET", "/v1/keys/current", key, ""},
		{"GET", "/v1/pets", foreignKey, ""}, // even an unknown key gets a 503 while keys cannot be looked up
		{"POST", "/v1/pets", key, `{"name":"Tom","categoryId":1}`},
		{"POST", "/v1/pets", programtest.AdminKey, `{"name":"Tom","categoryId":1}`},
		{"POST", "/v1/store/orders", programtest.AdminKey, `{"petId":1}`},
		{"PATCH", "/v1/pets/1", programtest.AdminKey, `{"name":"Max"}`},
		{"DELETE", "/v1/pets/1", programtest.AdminKey, ""},
		{"GET", "/readyz", "", ""},
	}
	for name, disconnect := range map[string]func(){"cut": proxy.Cut, "silent": func() { proxy.Delay(time.Hour) }} {
		disconnect()
		var sending sync.WaitGroup
		for _, r := range requests {
			sending.Go(func() {
				start := time.Now()
				a, err := p.Try(r.method, r.path, r.key, r.body, "Content-Type: application/json")
				if err != nil {
					t.Error(err)
				}
				if a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, `"unavailable"`) || a.Header.Get("Retry-After") != "1" {
					t.Errorf("%s: %s %s: got %v, want status 503, code unavailable and Retry-After: 1", name, r.method, r.path, a)
				}
				// The limit is generous because the machine may be busy.
				if took := time.Since(start); took > time.Minute {
					t.Errorf("%s: %s %s took %v, want at most a minute", name, r.method, r.path, took)
				}
			})
		}
		sending.Wait()
		programtest.ExpectStatus(t, p.Send("GET", "/livez", "", ""), http.StatusOK)

		proxy.Heal()
		programtest.Await(t, "the program to be ready", func() bool { return allNodesReport(t, []*programtest.Program{p}, http.StatusOK) })
		programtest.ExpectStatus(t, p.Send("GET", "/v1/keys/current", key, ""), http.StatusOK)
		programtest.ExpectError(t, p.Send("GET", "/v1/pets", foreignKey, ""), http.StatusUnauthorized, "invalid_api_key")
		if animals := p.Walk(); len(animals) != 1 || animals[0].Name != "Rex" || animals[0].Status != "available" {
			t.Errorf("%s: animals: got %+v, want only Rex, available: a refused write took effect", name, animals)
		}
	}
	p.Create(programtest.Pet{Name: "Tom"})
	p.Stop()
}
