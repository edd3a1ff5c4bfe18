package main

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// The real program works on the PostgreSQL server that the tests use. If the server is too old, the program refuses
// it.
func TestProgramLivesOnPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	f := programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+server.URL())
	if pgtest.Value[int](pgtest.Connect(t, server.URL()), "SELECT CAST(current_setting('server_version_num') AS INTEGER)") >= 130000 {
		live(t, f)
		return
	}
	for _, command := range [][]string{
		{"serve", "--addr", programtest.TakenAddr(t)}, {"check"}, {"keys", "list"}, {"keys", "create", "--name", "boss"},
		{"copy", "--to", "copy.db"}, {"copy", "--database", newFile(f), "--to", server.URL()},
	} {
		programtest.ExpectRefusal(t, f.Run(command...), 1, "the server is PostgreSQL 1", "needs version 13 or newer; upgrade the server")
	}
}

// newFile creates a SQLite store and returns the name of its file.
func newFile(f *programtest.Folder) string {
	f.CreateKey("--name", "boss", "--database", "source.db")
	return "source.db"
}

// live runs two nodes on an empty database and tries their main functions: creating a key, animals, searches, an order
// for which the nodes compete, events, a restart, a check and a copy.
func live(t *testing.T, f *programtest.Folder) {
	t.Helper()
	key := f.CreateKey("--name", "boss")
	nodes := f.ServeNodes(2)
	for i := range 20 {
		a := nodes[i%2].Send("POST", "/v1/pets", key, programtest.Pet{Name: fmt.Sprintf("Zoë %d", i), CategoryID: 7, Status: "available"}.JSON())
		programtest.ExpectStatus(t, a, http.StatusCreated)
	}
	for _, node := range nodes {
		found := programtest.Decode[[]programtest.Pet](t, node.Get("/v1/pets?q=zoe+11").Body)
		if len(found) != 1 || found[0].Name != "Zoë 11" {
			t.Errorf("a search found %v", found)
		}
	}
	var sold atomic.Int64
	var buyers sync.WaitGroup
	for i := range 10 {
		buyers.Go(func() {
			switch a := nodes[i%2].Send("POST", "/v1/store/orders", key, `{"petId":1}`); a.Status {
			case http.StatusCreated:
				sold.Add(1)
			case http.StatusConflict:
			default:
				t.Errorf("an order: %v", a)
			}
		})
	}
	buyers.Wait()
	if n := sold.Load(); n != 1 {
		t.Errorf("an animal was sold %d times", n)
	}
	programtest.Await(t, "the events of all animals and of the order", func() bool { return len(nodes[1].Feed()) >= 23 })
	nodes[0].Stop()
	programtest.ExpectStatus(t, nodes[1].Get("/v1/pets/20"), http.StatusOK)
	nodes[1].Stop()
	again := f.Serve()
	if n := len(again.Walk()); n != 20 {
		t.Errorf("there are %d animals after a restart, want 20", n)
	}
	again.Stop()
	f.MustRun("check")
	f.MustRun("copy", "--to", "copy.db")
	f.MustRun("check", "--database", "copy.db")
}
