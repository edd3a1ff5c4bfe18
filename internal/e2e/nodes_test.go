package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// newSharedFolder creates an empty folder for nodes that share a new PostgreSQL database. It returns the
// folder and the database's URL.
func newSharedFolder(t *testing.T) (f *programtest.Folder, database string) {
	t.Helper()
	database = pgtest.Shared(t).NewDatabase(t)
	return programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+database), database
}

// serveNodesUnderLoad starts nodes that may log that the database is unavailable. On a busy machine, the
// database may be too slow at times, so the clients of these nodes must retry.
func serveNodesUnderLoad(f *programtest.Folder, n int) []*programtest.Program {
	f.T.Helper()
	nodes := f.ServeNodes(n)
	for _, node := range nodes {
		node.DatabaseMayFail = true
	}
	return nodes
}

// query runs a statement directly on a PostgreSQL database, without using the program, and returns a single
// value.
func query[T any](t *testing.T, database, statement string) (value T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programtest.WaitTimeout)
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
func atOnce(nodes []*programtest.Program, times int, fn func(*programtest.Program)) {
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
func sendToAll(t *testing.T, nodes []*programtest.Program, times int, method, path, body string, fields ...string) []programtest.Response {
	t.Helper()
	var mu sync.Mutex
	var responses []programtest.Response
	atOnce(nodes, times, func(node *programtest.Program) {
		a, err := node.Try(method, path, programtest.AdminKey, body, fields...)
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
	const nodes = 4
	f, database := newSharedFolder(t)
	made := make(chan programtest.Result, 1)
	go func() { made <- f.Run("keys", "create", "--name", "early") }()
	all := f.ServeNodes(nodes)
	key := <-made // Run ends after WaitTimeout at the latest
	if key.Code != 0 {
		t.Fatalf("keys create: got %+v, want exit code 0", key)
	}
	for i, node := range all {
		node.Create(programtest.Pet{Name: fmt.Sprint("Rex ", i), CategoryID: 1, Status: "available"})
	}
	want := all[0].Walk()
	if len(want) != nodes {
		t.Errorf("got the animals %+v, want one from each of %d nodes", want, nodes)
	}
	for _, node := range all {
		if got := node.Walk(); !slices.Equal(got, want) {
			t.Errorf("a node has %+v, want %+v like the first node", got, want)
		}
		programtest.ExpectStatus(t, node.Send("GET", "/v1/pets", strings.TrimSpace(key.Stdout), ""), 200)
	}
	// If a migration had run twice, it would have failed or inserted its rows twice.
	if n := query[int](t, database, "SELECT count(*) FROM schema_version"); n != 1 {
		t.Errorf("schema_version has %d rows, want 1", n)
	}
	if n := query[int](t, database, "SELECT count(*) FROM inventory"); n != 4 {
		t.Errorf("inventory has %d rows, want 4", n)
	}
}

// TestRevokedKeyIsRefusedOnOtherNodes rotates and revokes a key on one node and then uses it on another. A
// request that is sent more than a second after the change must be refused.
func TestRevokedKeyIsRefusedOnOtherNodes(t *testing.T) {
	t.Parallel()
	f, _ := newSharedFolder(t)
	nodes := f.ServeNodes(2)
	type key struct {
		ID  int64
		Key string
	}
	expectRefusedAfter := func(secret string, revoke func()) {
		t.Helper()
		for _, node := range nodes { // every node has then cached the secret
			programtest.ExpectStatus(t, node.Send("GET", "/v1/pets", secret, ""), 200)
		}
		revoke()
		acknowledged := time.Now()
		for _, node := range nodes {
			programtest.Await(t, "the secret to be refused", func() bool {
				elapsed := time.Since(acknowledged) // measured before the request is sent
				a := node.Send("GET", "/v1/pets", secret, "")
				if a.Status == 200 && elapsed > time.Second {
					t.Fatalf("%v after the secret was revoked, a request with it got %v, want 401", elapsed, a)
				}
				return a.Status == 401
			})
			programtest.ExpectError(t, node.Send("GET", "/v1/pets", secret, ""), 401, "invalid_api_key")
		}
	}
	a := nodes[0].Send("POST", "/v1/keys", programtest.AdminKey, `{"name":"partner","scopes":["pets:read"]}`)
	programtest.ExpectStatus(t, a, 201)
	made := programtest.Decode[key](t, a.Body)
	var rotated key
	expectRefusedAfter(made.Key, func() {
		a := nodes[1].Send("POST", fmt.Sprintf("/v1/keys/%d/rotate", made.ID), programtest.AdminKey, `{"overlapSeconds":0}`)
		programtest.ExpectStatus(t, a, 200)
		rotated = programtest.Decode[key](t, a.Body)
	})
	expectRefusedAfter(rotated.Key, func() {
		programtest.ExpectStatus(t, nodes[0].Send("DELETE", fmt.Sprintf("/v1/keys/%d", made.ID), programtest.AdminKey, ""), 204)
	})
}

// TestIdempotencyKeyWorksAcrossNodes concurrently sends the same request with the same idempotency key to all
// nodes.
func TestIdempotencyKeyWorksAcrossNodes(t *testing.T) {
	t.Parallel()
	f, _ := newSharedFolder(t)
	nodes := f.ServeNodes(3)
	const rounds, times = 3, 2
	first := map[string]programtest.Response{} // the first response for each idempotency key
	createOnce := func(path, body, key string) {
		t.Helper()
		executed := 0
		var same *programtest.Response
		responses := sendToAll(t, nodes, times, "POST", path, body, "Idempotency-Key: "+key)
		for _, a := range responses {
			if a.Status == 409 {
				programtest.ExpectError(t, a, 409, "idempotency_key_in_use")
				continue
			}
			programtest.ExpectStatus(t, a, 201)
			if a.Header.Get("Idempotency-Replayed") == "" {
				executed++
			}
			if same == nil {
				same = &a
			}
			if a.Body != same.Body || a.Header.Get("Location") != same.Header.Get("Location") {
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
		createOnce("/v1/pets", programtest.Pet{Name: name, CategoryID: int64(round), Status: "available"}.JSON(), "pet "+name)
		rex := programtest.Decode[programtest.Pet](t, first["pet "+name].Body)
		createOnce("/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, rex.ID), "order "+name)
		// Without an idempotency key, each request counts as a new order, which is refused because the animal
		// is no longer available.
		for _, a := range sendToAll(t, nodes, times, "POST", "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, rex.ID)) {
			programtest.ExpectError(t, a, 409, "pet_not_available")
		}
	}
	if pets := nodes[0].Walk(); len(pets) != rounds {
		t.Errorf("there are %d animals, want %d: %+v", len(pets), rounds, pets)
	}
	if a := nodes[1].Get("/v1/store/inventory"); a.Body != fmt.Sprintf(`{"available":0,"pending":%d,"sold":0,"unspecified":0}`+"\n", rounds) {
		t.Errorf("the inventory is %v, want %d pending", a, rounds)
	}
	// Later requests, even after a restart, must get the stored response from every node. A different request
	// with the same idempotency key must be refused.
	nodes[0].Kill()
	nodes[0] = f.Serve()
	for _, node := range nodes {
		body := programtest.Pet{Name: "Rex 0", Status: "available"}.JSON()
		a := node.Send("POST", "/v1/pets", programtest.AdminKey, body, `Idempotency-Key: "pet Rex 0"`)
		programtest.ExpectStatus(t, a, 201)
		programtest.ExpectHeader(t, a, "Idempotency-Replayed", "true")
		programtest.ExpectHeader(t, a, "Location", first["pet Rex 0"].Header.Get("Location"))
		if a.Body != first["pet Rex 0"].Body {
			t.Errorf("the replay is %v, want %v", a, first["pet Rex 0"])
		}
		a = node.Send("POST", "/v1/pets", programtest.AdminKey, `{"name":"Tom","categoryId":1}`, "Idempotency-Key: pet Rex 0")
		programtest.ExpectError(t, a, 422, "idempotency_key_reused")
	}
}
