package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
)

// newSharedFolder creates an empty folder for nodes that share a new PostgreSQL database. It returns the
// folder and the database's URL.
func newSharedFolder(t *testing.T) (f *folder, database string) {
	t.Helper()
	database = pgtest.Shared(t).NewDatabase(t)
	return newFolder(t, "ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_DATABASE="+database), database
}

// serveNodes starts n nodes at the same time and waits until all of them are ready.
func (f *folder) serveNodes(n int, args ...string) []*program {
	f.t.Helper()
	var nodes []*program
	for range n {
		nodes = append(nodes, f.start(args...))
	}
	for _, node := range nodes {
		node.awaitReady()
		expectStatus(f.t, node.send("GET", "/readyz", "", ""), 200)
	}
	return nodes
}

// serveNodesUnderLoad starts nodes that may log that the database is unavailable. On a busy machine, the
// database may be too slow at times, so the clients of these nodes must retry.
func (f *folder) serveNodesUnderLoad(n int) []*program {
	f.t.Helper()
	nodes := f.serveNodes(n)
	for _, node := range nodes {
		node.databaseMayFail = true
	}
	return nodes
}

// query runs a statement directly on a PostgreSQL database, without using the program, and returns a single
// value.
func query[T any](t *testing.T, database, statement string) (value T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, statement).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

// atOnce calls fn concurrently, the given number of times for each node, and returns when all calls have
// returned.
func atOnce(nodes []*program, times int, fn func(*program)) {
	var running sync.WaitGroup
	start := make(chan struct{})
	for _, node := range nodes {
		for range times {
			running.Go(func() {
				<-start
				fn(node)
			})
		}
	}
	close(start)
	running.Wait()
}

// sendToAll concurrently sends the same request to all nodes, several times to each node, and returns the
// responses.
func sendToAll(t *testing.T, nodes []*program, times int, method, path, body string, fields ...string) []response {
	t.Helper()
	var mu sync.Mutex
	var responses []response
	atOnce(nodes, times, func(node *program) {
		a, err := node.try(method, path, adminKey, body, fields...)
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		responses = append(responses, a)
	})
	if t.Failed() {
		t.FailNow()
	}
	return responses
}

// TestNodesMigrateEmptyDatabaseOnce starts several nodes and a command that creates a key at the same time on
// an empty database.
func TestNodesMigrateEmptyDatabaseOnce(t *testing.T) {
	t.Parallel()
	const nodes, rounds = 4, 3
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			f, database := newSharedFolder(t)
			made := make(chan result, 1)
			go func() { made <- f.run("keys", "create", "--name", "early") }()
			all := f.serveNodes(nodes)
			key := <-made
			if key.code != 0 {
				t.Fatalf("keys create: got %+v, want exit code 0", key)
			}
			for i, node := range all {
				node.create(pet{Name: fmt.Sprint("Rex ", i), CategoryID: 1, Status: "available"})
			}
			want := all[0].walk()
			if len(want) != nodes {
				t.Errorf("got the animals %+v, want one from each of %d nodes", want, nodes)
			}
			for _, node := range all {
				if got := node.walk(); !slices.Equal(got, want) {
					t.Errorf("a node has %+v, want %+v like the first node", got, want)
				}
				if a := node.get("/v1/store/inventory"); a.body != `{"available":4,"pending":0,"sold":0,"unspecified":0}`+"\n" {
					t.Errorf("the inventory is %v, want 4 available", a)
				}
				expectStatus(t, node.send("GET", "/v1/pets", strings.TrimSpace(key.stdout), ""), 200)
			}
			// If a migration had run twice, it would have failed or inserted its rows twice.
			if n := query[int](t, database, "SELECT count(*) FROM schema_version"); n != 1 {
				t.Errorf("schema_version has %d rows, want 1", n)
			}
			if n := query[int](t, database, "SELECT count(*) FROM inventory"); n != 4 {
				t.Errorf("inventory has %d rows, want 4", n)
			}
		})
	}
}

// TestNewerSchemaIsRefusedAtStart sets the database's schema version to a newer one. New processes must
// refuse to start, but processes that are already running must continue.
func TestNewerSchemaIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	f, database := newSharedFolder(t)
	running := f.serve()
	if v := query[int](t, database, "UPDATE schema_version SET version = 999 RETURNING version"); v != 999 {
		t.Fatalf("the schema version is %d, want 999", v)
	}
	expectRefusal(t, f.run("serve", "--addr", takenAddr(t)), 1, "newer animalstore", "999")
	expectRefusal(t, f.run("keys", "create", "--name", "n"), 1, "newer animalstore", "999")
	running.create(pet{Name: "Rex"})
	expectStatus(t, running.send("GET", "/readyz", "", ""), 200)
	if v := query[int](t, database, "SELECT version FROM schema_version"); v != 999 {
		t.Errorf("the schema version is %d, want 999", v)
	}
}

// TestRevokedKeyIsRefusedOnOtherNodes creates, rotates and revokes keys on different nodes and then uses the
// keys on all nodes.
func TestRevokedKeyIsRefusedOnOtherNodes(t *testing.T) {
	t.Parallel()
	f, _ := newSharedFolder(t)
	nodes := f.serveNodes(3)
	type key struct {
		ID  int64
		Key string
	}
	expectAccepted := func(secret string) {
		t.Helper()
		for _, node := range nodes {
			expectStatus(t, node.send("GET", "/v1/pets", secret, ""), 200)
		}
	}
	// expectRefusedAfter checks that all nodes refuse the secret within one second after revoke returns. The
	// test fails only if a request sent after this second is accepted, so a slow machine does not cause a
	// failure.
	expectRefusedAfter := func(secret string, revoke func()) {
		t.Helper()
		expectAccepted(secret) // every node has now cached the secret
		revoke()
		acknowledged := time.Now()
		await(t, "the secret to be refused", func() bool {
			refused := 0
			for _, node := range nodes {
				elapsed := time.Since(acknowledged)
				a := node.send("GET", "/v1/pets", secret, "")
				switch {
				case a.status == 401:
					refused++
				case a.status != 200 || elapsed > time.Second:
					t.Fatalf("%v after the secret was revoked, a request with it got %v, want 401", elapsed, a)
				}
			}
			return refused == len(nodes)
		})
		for range 5 { // the secret must stay refused
			for _, node := range nodes {
				expectError(t, node.send("GET", "/v1/pets", secret, ""), 401, "invalid_api_key")
			}
		}
	}
	for i, node := range nodes {
		next, last := nodes[(i+1)%len(nodes)], nodes[(i+2)%len(nodes)]
		a := node.send("POST", "/v1/keys", adminKey, `{"name":"partner","scopes":["pets:read"]}`)
		expectStatus(t, a, 201)
		made := decode[key](t, a.body)
		expectAccepted(made.Key)

		var rotated key
		expectRefusedAfter(made.Key, func() {
			a := next.send("POST", fmt.Sprintf("/v1/keys/%d/rotate", made.ID), adminKey, `{"overlapSeconds":0}`)
			expectStatus(t, a, 200)
			rotated = decode[key](t, a.body)
		})
		expectRefusedAfter(rotated.Key, func() {
			expectStatus(t, last.send("DELETE", fmt.Sprintf("/v1/keys/%d", made.ID), adminKey, ""), 204)
		})
	}
}

// TestIdempotencyKeyWorksAcrossNodes concurrently sends the same request with the same idempotency key to all
// nodes.
func TestIdempotencyKeyWorksAcrossNodes(t *testing.T) {
	t.Parallel()
	f, _ := newSharedFolder(t)
	nodes := f.serveNodes(3)
	const rounds, times = 10, 2
	first := map[string]response{} // the first response for each idempotency key
	createOnce := func(path, body, key string) {
		t.Helper()
		executed := 0
		var same *response
		responses := sendToAll(t, nodes, times, "POST", path, body, "Idempotency-Key: "+key)
		for _, a := range responses {
			if a.status == 409 {
				expectError(t, a, 409, "idempotency_key_in_use")
				continue
			}
			expectStatus(t, a, 201)
			if a.header.Get("Idempotency-Replayed") == "" {
				executed++
			}
			if same == nil {
				same = &a
			}
			if a.body != same.body || a.header.Get("Location") != same.header.Get("Location") {
				t.Errorf("%s got %v, want %v like the first request", body, a, same)
			}
		}
		if same == nil || executed != 1 {
			t.Fatalf("%s with one idempotency key was executed %d times, want once: %v", body, executed, responses)
		}
		first[key] = *same
	}
	for round := range rounds {
		name := fmt.Sprint("Rex ", round)
		createOnce("/v1/pets", pet{Name: name, CategoryID: int64(round), Status: "available"}.json(), "pet "+name)
		rex := decode[pet](t, first["pet "+name].body)
		createOnce("/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, rex.ID), "order "+name)
		// Without an idempotency key, each request counts as a new order, which is refused because the animal
		// is no longer available.
		for _, a := range sendToAll(t, nodes, times, "POST", "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, rex.ID)) {
			expectError(t, a, 409, "pet_not_available")
		}
	}
	if pets := nodes[0].walk(); len(pets) != rounds {
		t.Errorf("there are %d animals, want %d: %+v", len(pets), rounds, pets)
	}
	if a := nodes[1].get("/v1/store/inventory"); a.body != fmt.Sprintf(`{"available":0,"pending":%d,"sold":0,"unspecified":0}`+"\n", rounds) {
		t.Errorf("the inventory is %v, want %d pending", a, rounds)
	}
	// Later requests, even after a restart, must get the stored response from every node. A different request
	// with the same idempotency key must be refused.
	nodes[0].kill()
	nodes[0] = f.serve()
	for _, node := range nodes {
		body := pet{Name: "Rex 0", Status: "available"}.json()
		a := node.send("POST", "/v1/pets", adminKey, body, `Idempotency-Key: "pet Rex 0"`)
		expectStatus(t, a, 201)
		expectHeader(t, a, "Idempotency-Replayed", "true")
		expectHeader(t, a, "Location", first["pet Rex 0"].header.Get("Location"))
		if a.body != first["pet Rex 0"].body {
			t.Errorf("the replay is %v, want %v", a, first["pet Rex 0"])
		}
		a = node.send("POST", "/v1/pets", adminKey, `{"name":"Tom","categoryId":1}`, "Idempotency-Key: pet Rex 0")
		expectError(t, a, 422, "idempotency_key_reused")
	}
}

// TestHoldExpiresOnceOnManyNodes lets holds expire on several nodes, first without and then with concurrent
// orders for the held animals.
func TestHoldExpiresOnceOnManyNodes(t *testing.T) {
	t.Parallel()
	f, database := newSharedFolder(t)
	nodes := f.serveNodes(3, "--order-hold", "2s")
	const animals = 6
	for range animals {
		nodes[0].create(pet{Name: "Rex", CategoryID: 1, Status: "available"})
	}
	// If a hold expired twice, the inventory would count its animal twice.
	check := func(expired int) {
		t.Helper()
		for _, node := range nodes {
			want := fmt.Sprintf(`{"available":%d,"pending":0,"sold":0,"unspecified":0}`+"\n", animals)
			if a := node.get("/v1/store/inventory"); a.body != want {
				t.Errorf("the inventory is %v, want %s", a, want)
			}
			if orders := decode[[]any](t, node.get("/v1/store/orders?status=expired&limit=100").body); len(orders) != expired {
				t.Errorf("%d orders have expired, want %d", len(orders), expired)
			}
		}
	}
	for id := range animals {
		a := nodes[id%len(nodes)].send("POST", "/v1/store/orders", adminKey, fmt.Sprintf(`{"petId":%d}`, id+1))
		expectStatus(t, a, 201)
	}
	const held = "SELECT count(*) FROM orders WHERE status = 'placed'"
	await(t, "the holds to expire in the background", func() bool { return query[int](t, database, held) == 0 })
	check(animals)
	ended := nodes[0].get("/v1/store/orders?status=expired").body

	// Now many clients order all animals concurrently until each animal has been ordered twice. The second
	// order is possible only after the first hold has expired.
	var placed [animals]atomic.Int64
	atOnce(nodes, 2, func(node *program) {
		for wanted := true; wanted && !t.Failed(); {
			wanted = false
			for i := range placed {
				if placed[i].Load() >= 2 {
					continue
				}
				wanted = true
				a, err := node.try("POST", "/v1/store/orders", adminKey, fmt.Sprintf(`{"petId":%d}`, i+1))
				switch {
				case err != nil:
					t.Error(err)
				case a.status == 201:
					placed[i].Add(1)
				case a.status != 409:
					t.Errorf("POST /v1/store/orders got %v, want 201 or 409", a)
				}
			}
		}
	})
	await(t, "the holds to expire in the background", func() bool { return query[int](t, database, held) == 0 })
	orders := animals
	for i := range placed {
		orders += int(placed[i].Load())
	}
	check(orders)
	if a := nodes[1].get("/v1/store/orders?status=expired&limit=100").body; !strings.HasSuffix(a, strings.TrimPrefix(ended, "[")) {
		t.Errorf("the expired orders are now %s, want those of before at the end: %s", a, ended)
	}
}
