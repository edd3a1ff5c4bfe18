package e2e

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/client"
	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// TestFailoverKeepsAcknowledgedWrites kills the primary that two nodes use, and then promotes its synchronous replica.
// No acknowledged write may be lost, nothing may be stored twice, and the nodes must recover without intervention.
func TestFailoverKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	testFailover(t, func(primary, replica *pgtest.Server, nodes []*programtest.Program, _ *load) {
		primary.Kill(t)
		awaitReadiness(t, http.StatusServiceUnavailable, nodes...)
		replica.Promote(t)
	})
}

// TestFailoverDuringCommitsKeepsAcknowledgedWrites kills the primary while its commits are waiting for a
// stopped replica. Only the primary has the data from these commits, so none of them may have been
// acknowledged.
func TestFailoverDuringCommitsKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	testFailover(t, func(primary, replica *pgtest.Server, _ []*programtest.Program, l *load) {
		replica.Stop(t)
		// Wait until at least three commits are waiting for the replica. Sometimes there are never three, because the
		// other transactions conflict with the waiting ones and fail. Therefore, one waiting commit is enough once a
		// request has been refused.
		before := l.refused.Load()
		programtest.Await(t, "commits that wait for the replica", func() bool {
			waiting := waitingCommits(t, primary)
			return waiting >= 3 || waiting >= 1 && l.refused.Load() > before
		})
		primary.Kill(t)
		replica.Restart(t)
		replica.Promote(t)
	})
}

// testFailover lets clients add and order animals while switchOver replaces the primary with its replica. Each client
// adds an animal and orders it. It then also orders the previously added animal, which another client may have added,
// so that clients compete for animals. Half of the clients repeat a call until it gets a final response. The other half
// never repeat a call.
func testFailover(t *testing.T, switchOver func(primary, replica *pgtest.Server, nodes []*programtest.Program, l *load)) {
	t.Helper()
	primary, replica := pgtest.StartWithReplica(t, true)
	nodes := serveNodesUnderLoad(programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+pgtest.FailoverURL(primary, replica)), 2)
	l := newLoad(t)
	var last atomic.Int64
	unlessExpected := func(err error) error {
		if err == nil || isTemporary(err) || client.IsCode(err, client.CodePetNotAvailable) {
			return nil
		}
		return err
	}
	l.start(6, func(i, n int) error {
		b := l.buyer(nodes[i%2], i < 3)
		name := fmt.Sprintf("animal %d of client %d", n, i)
		pet, err := b.add(client.NewPet{Name: name, CategoryID: int64(n % 3), Status: client.PetAvailable})
		if err != nil {
			return unlessExpected(err)
		}
		_, err = b.order(pet.ID, fmt.Sprintf("order %d of client %d", n, i))
		if other := last.Swap(pet.ID); other != 0 && unlessExpected(err) == nil {
			_, err = b.order(other, fmt.Sprintf("competing order %d of client %d", n, i))
		}
		return unlessExpected(err)
	})
	l.await(60)
	switchOver(primary, replica, nodes, l)
	awaitReadiness(t, http.StatusOK, nodes...)
	l.await(60)
	l.stop()
	for _, node := range nodes {
		l.check(node)
	}
	t.Logf("writes: %d acknowledged, %d refused", l.acknowledged.Load(), l.refused.Load())
}

// TestUndoneFailoverIsReported lets two nodes follow a failover and then redirects them to the old primary. The old
// primary lacks the writes that were acknowledged after the failover. As long as the nodes are connected to the old
// primary, they must refuse all requests and say why, but log this only once. They must work again on the new primary.
func TestUndoneFailoverIsReported(t *testing.T) {
	t.Parallel()
	primary, replica := pgtest.StartWithReplica(t, true)
	proxy := pgtest.StartProxy(t, primary.URL())
	nodes := serveNodesUnderLoad(programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+proxy.URL()), 2)
	moveTo := func(server *pgtest.Server) {
		proxy.Redirect(server)
		proxy.Cut()
		proxy.Heal()
	}
	replica.Promote(t)
	moveTo(replica)
	awaitReadiness(t, http.StatusOK, nodes...)
	pet, a := nodes[0].Create(programtest.Pet{Name: "Rex", CategoryID: 1})
	programtest.ExpectStatus(t, a, http.StatusCreated)
	moveTo(primary)
	awaitReadiness(t, http.StatusServiceUnavailable, nodes...)
	for _, node := range nodes {
		path := fmt.Sprint("/v1/pets/", pet.ID)
		programtest.ExpectError(t, node.Send("GET", path, programtest.AdminKey, ""), http.StatusServiceUnavailable, "unavailable")
		if a := node.Send("GET", "/readyz", "", ""); !strings.Contains(a.Body, "lost a part of its history") {
			t.Errorf("/readyz: %v", a)
		}
		if n := node.Metric("animalstore_postgres_timeline"); n != 2 {
			t.Errorf("animalstore_postgres_timeline is %v, want 2", n)
		}
		if n := strings.Count(node.Output.String(), "a database server was refused"); n != 1 {
			t.Errorf("the log reports the refused server %d times, want once", n)
		}
	}
	moveTo(replica)
	awaitReadiness(t, http.StatusOK, nodes...)
	for _, node := range nodes {
		programtest.ExpectStatus(t, node.Get(fmt.Sprint("/v1/pets/", pet.ID)), http.StatusOK)
	}
}

// waitingCommits returns the number of commits on the primary that are waiting for its replica.
func waitingCommits(t *testing.T, primary *pgtest.Server) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), primary.URL())
	must(t, err)
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitReadiness waits until every node responds to a /readyz request with the given status.
func awaitReadiness(t *testing.T, status int, nodes ...*programtest.Program) {
	t.Helper()
	programtest.Await(t, fmt.Sprint("readiness ", status), func() bool {
		return !slices.ContainsFunc(nodes, func(node *programtest.Program) bool {
			a := node.Send("GET", "/readyz", "", "")
			if a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "" {
				t.Errorf("503 without Retry-After: %v", a)
			}
			return a.Status != status
		})
	})
}

// TestStartFailsWhenDatabaseIsUnreachable starts the program with a database server that never responds and
// with one whose port is closed. The program must retry for a while and then exit with an error that names
// the address.
func TestStartFailsWhenDatabaseIsUnreachable(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // this server accepts connections but never responds
	must(t, err)
	defer silent.Close()
	// No process listens on port 1. The test does not look for a free port, because another process might take that
	// port in the meantime.
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

// TestRequestsGet503WhileDatabaseIsUnreachable interrupts the connection between a running program and its database and
// later restores it. While the connection is interrupted, every request must get a 503.
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
				if a.Status != 503 || !strings.Contains(a.Body, `"unavailable"`) || a.Header.Get("Retry-After") != "1" {
					t.Errorf("%s: %s %s: got %v, want status 503, code unavailable and Retry-After: 1", name, r.method, r.path, a)
				}
			})
		}
		sending.Wait()
		programtest.ExpectStatus(t, p.Send("GET", "/livez", "", ""), http.StatusOK)

		proxy.Heal()
		awaitReadiness(t, http.StatusOK, p)
		programtest.ExpectStatus(t, p.Send("GET", "/v1/keys/current", key, ""), http.StatusOK)
		programtest.ExpectError(t, p.Send("GET", "/v1/pets", foreignKey, ""), http.StatusUnauthorized, "invalid_api_key")
		if animals := p.Walk(); len(animals) != 1 || animals[0].Name != "Rex" || animals[0].Status != "available" {
			t.Errorf("%s: animals: got %+v, want only Rex, available: a refused write took effect", name, animals)
		}
	}
	p.Create(programtest.Pet{Name: "Tom"})
	p.Stop()
}
