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

// newSharedFolder makes an empty folder for nodes that share a PostgreSQL database of their own, and returns that, too.
func newSharedFolder(t *testing.T) (f *folder, database string) {
	t.Helper()
	database = pgtest.Shared(t).NewDatabase(t)
	return newFolder(t, "ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_DATABASE="+database), database
}

// serveNodes starts several services at once and waits until all of them answer.
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

// servePatientNodes starts services whose clients ask again where a busy machine makes the database too slow.
func (f *folder) servePatientNodes(n int) []*program {
	f.t.Helper()
	nodes := f.serveNodes(n)
	for _, node := range nodes {
		node.bereft = true
	}
	return nodes
}

// query asks a PostgreSQL database behind the program's back for one value.
func query[T any](t *testing.T, database, statement string) (value T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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

// atOnce runs fn for all nodes at the same time, several times on each, and returns when all have ended.
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

// sendToAll makes the same request on all nodes at once, several times on each, and returns the answers.
func sendToAll(t *testing.T, nodes []*program, times int, method, path, body string, fields ...string) []answer {
	t.Helper()
	var mu sync.Mutex
	var responses []answer
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

// TestNodesMigrateEmptyDatabaseOnce starts nodes, and a command that makes a key, at once on an empty database.
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
				t.Fatalf("%+v", key)
			}
			for i, node := range all {
				node.create(pet{Name: fmt.Sprint("Rex ", i), CategoryID: 1, Status: "available"})
			}
			want := all[0].walk()
			if len(want) != nodes {
				t.Errorf("each of %d nodes added an animal; there are %+v", nodes, want)
			}
			for _, node := range all {
				if got := node.walk(); !slices.Equal(got, want) {
					t.Errorf("one node has %+v, another %+v", want, got)
				}
				if a := node.get("/v1/store/inventory"); a.body != `{"available":4,"pending":0,"sold":0,"unspecified":0}`+"\n" {
					t.Errorf("%v", a)
				}
				expectStatus(t, node.send("GET", "/v1/pets", strings.TrimSpace(key.stdout), ""), 200)
			}
			// A migration that had run twice would have failed, or have left its rows twice.
			if n := query[int](t, database, "SELECT count(*) FROM schema_version"); n != 1 {
				t.Errorf("%d rows of the schema's version", n)
			}
			if n := query[int](t, database, "SELECT count(*) FROM inventory"); n != 4 {
				t.Errorf("%d rows of the inventory", n)
			}
		})
	}
}

// TestNewerSchemaIsRefusedAtStart lets a newer version migrate the database: this one refuses to start on it, and goes on where it runs.
func TestNewerSchemaIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	f, database := newSharedFolder(t)
	running := f.serve()
	if v := query[int](t, database, "UPDATE schema_version SET version = 999 RETURNING version"); v != 999 {
		t.Fatalf("version %d", v)
	}
	expectRefusal(t, f.run("serve", "--addr", takenAddr(t)), 1, "newer animalstore", "999")
	expectRefusal(t, f.run("keys", "create", "--name", "n"), 1, "newer animalstore", "999")
	running.create(pet{Name: "Rex"})
	expectStatus(t, running.send("GET", "/readyz", "", ""), 200)
	if v := query[int](t, database, "SELECT version FROM schema_version"); v != 999 {
		t.Errorf("version %d", v)
	}
}

// TestRevokedKeyIsRefusedOnOtherNodes makes, rotates and revokes keys on one node and uses them on all.
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
	// ends expects that from a second after an act on, a secret is refused everywhere. A request that began later than that
	// and was accepted is wrong however slow the machine is; one that is refused earlier is not.
	expectRefusedAfter := func(secret string, revoke func()) {
		t.Helper()
		expectAccepted(secret) // every node now remembers it
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
					t.Fatalf("%v after it had ended, a secret got %v", elapsed, a)
				}
			}
			return refused == len(nodes)
		})
		for range 5 { // and for good
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

// TestIdempotencyKeyWorksAcrossNodes sends the same request to all nodes at once, under one idempotency key.
func TestIdempotencyKeyWorksAcrossNodes(t *testing.T) {
	t.Parallel()
	f, _ := newSharedFolder(t)
	nodes := f.serveNodes(3)
	const rounds, times = 10, 2
	first := map[string]answer{} // of each request, by its idempotency key
	createOnce := func(path, body, key string) {
		t.Helper()
		executed := 0
		var same *answer
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
				t.Errorf("%s was answered with %v, and with %v", body, same, a)
			}
		}
		if same == nil || executed != 1 {
			t.Fatalf("%s under one key was done %d times: %v", body, executed, responses)
		}
		first[key] = *same
	}
	for round := range rounds {
		name := fmt.Sprint("Rex ", round)
		createOnce("/v1/pets", pet{Name: name, CategoryID: int64(round), Status: "available"}.json(), "pet "+name)
		rex := decode[pet](t, first["pet "+name].body)
		createOnce("/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, rex.ID), "order "+name)
		// Without a key each is a request of its own, and the animal is taken.
		for _, a := range sendToAll(t, nodes, times, "POST", "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, rex.ID)) {
			expectError(t, a, 409, "pet_not_available")
		}
	}
	if pets := nodes[0].walk(); len(pets) != rounds {
		t.Errorf("%d animals were added %d times: %+v", rounds, len(pets), pets)
	}
	if a := nodes[1].get("/v1/store/inventory"); a.body != fmt.Sprintf(`{"available":0,"pending":%d,"sold":0,"unspecified":0}`+"\n", rounds) {
		t.Errorf("%v", a)
	}
	// Later, and after a restart, every node repeats the answer, and refuses another request under the key.
	nodes[0].kill()
	nodes[0] = f.serve()
	for _, node := range nodes {
		body := pet{Name: "Rex 0", Status: "available"}.json()
		a := node.send("POST", "/v1/pets", adminKey, body, `Idempotency-Key: "pet Rex 0"`)
		expectStatus(t, a, 201)
		expectHeader(t, a, "Idempotency-Replayed", "true")
		expectHeader(t, a, "Location", first["pet Rex 0"].header.Get("Location"))
		if a.body != first["pet Rex 0"].body {
			t.Errorf("first %v, then %v", first["pet Rex 0"], a)
		}
		a = node.send("POST", "/v1/pets", adminKey, `{"name":"Tom","categoryId":1}`, "Idempotency-Key: pet Rex 0")
		expectError(t, a, 422, "idempotency_key_reused")
	}
}

// TestHoldExpiresOnceOnManyNodes lets holds run out that all nodes see: while nobody asks, and while everybody does.
func TestHoldExpiresOnceOnManyNodes(t *testing.T) {
	t.Parallel()
	f, database := newSharedFolder(t)
	nodes := f.serveNodes(3, "--order-hold", "2s")
	const animals = 6
	for range animals {
		nodes[0].create(pet{Name: "Rex", CategoryID: 1, Status: "available"})
	}
	// A hold that ended twice would have been counted twice.
	check := func(expired int) {
		t.Helper()
		for _, node := range nodes {
			want := fmt.Sprintf(`{"available":%d,"pending":0,"sold":0,"unspecified":0}`+"\n", animals)
			if a := node.get("/v1/store/inventory"); a.body != want {
				t.Errorf("got %v, want %s", a, want)
			}
			if orders := decode[[]any](t, node.get("/v1/store/orders?status=expired&limit=100").body); len(orders) != expired {
				t.Errorf("%d orders expired, want %d", len(orders), expired)
			}
		}
	}
	for id := range animals {
		a := nodes[id%len(nodes)].send("POST", "/v1/store/orders", adminKey, fmt.Sprintf(`{"petId":%d}`, id+1))
		expectStatus(t, a, 201)
	}
	const held = "SELECT count(*) FROM orders WHERE status = 'placed'"
	await(t, "the holds to run out by themselves", func() bool { return query[int](t, database, held) == 0 })
	check(animals)
	ended := nodes[0].get("/v1/store/orders?status=expired").body

	// Now many want every animal at once, until each has been had twice: the first hold has run out by then.
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
					t.Errorf("%v", a)
				}
			}
		}
	})
	await(t, "the holds to run out by themselves", func() bool { return query[int](t, database, held) == 0 })
	orders := animals
	for i := range placed {
		orders += int(placed[i].Load())
	}
	check(orders)
	if a := nodes[1].get("/v1/store/orders?status=expired&limit=100").body; !strings.HasSuffix(a, strings.TrimPrefix(ended, "[")) {
		t.Errorf("orders that had expired have changed: they were %s, now there are %s", ended, a)
	}
}
