package e2e

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

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
		f := programtest.NewFolderWithKey(t,
			"ANIMALSTORE_DATABASE=postgres://animalstore:hunter2@"+addr+"/animalstore?sslmode=disable")
		running.Go(func() {
			r := f.Run("serve", "--addr", "127.0.0.1:0")
			programtest.ExpectRefusal(t, r, 1, "cannot open the database", addr)
			if strings.Contains(r.Stderr, "hunter2") {
				t.Errorf("the password is in the error message %q", r.Stderr)
			}
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
	f := programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+server.URL())
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
	f := programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+proxy.URL())
	p := f.Serve()
	p.DatabaseMayFail = true
	key := f.CreateKey("--name", "partner")
	// The key is well formed but belongs to another store.
	foreignKey := programtest.NewFolder(t).CreateKey("--name", "stranger")
	p.Create(programtest.Pet{Name: "Rex", Status: "available"})

	requests := []struct{ method, path, key, body string }{
		{"GET", "/v1/pets", key, ""},
		{"GET", "/v1/pets/1", programtest.AdminKey, ""},
		{"GET", "/v1/pets", foreignKey, ""}, // even an unknown key gets a 503 while keys cannot be looked up
		{"POST", "/v1/pets", key, `{"name":"Tom","categoryId":1}`},
		{"POST", "/v1/store/orders", programtest.AdminKey, `{"petId":1}`},
		{"DELETE", "/v1/pets/1", programtest.AdminKey, ""},
		{"GET", "/readyz", "", ""},
	}
	for name, disconnect := range map[string]func(){"cut": proxy.Cut, "silent": func() { proxy.Delay(time.Hour) }} {
		disconnect()
		var sending sync.WaitGroup
		for _, r := range requests {
			sending.Go(func() {
				a, err := p.Try(r.method, r.path, r.key, r.body, "Content-Type: application/json")
				if err != nil {
					t.Error(err)
				}
				if a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, `"unavailable"`) || a.Header.Get("Retry-After") != "1" {
					t.Errorf("%s: %s %s: got %v, want status 503, code unavailable and Retry-After: 1", name, r.method, r.path, a)
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
