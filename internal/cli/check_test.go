package cli

import (
	"strings"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"animalstore/internal/pgtest"
)

// check finds no problems while clients write.
func TestCheckWorksWhileServiceWrites(t *testing.T) {
	for name, database := range map[string]func(t *testing.T) string{
		"file":   func(*testing.T) string { return "animalstore.db" },
		"server": func(t *testing.T) string { return pgtest.Shared(t).NewDatabase(t) },
	} {
		t.Run(name, func(t *testing.T) {
			newFolderWithKey(t)
			t.Setenv("ANIMALSTORE_DATABASE", database(t))
			s := serve(t)
			var clients sync.WaitGroup
			for range 4 {
				clients.Go(func() {
					for range 100 {
						s.addPet("Rex")
					}
				})
			}
			written := make(chan struct{})
			go func() {
				defer close(written)
				clients.Wait()
			}()
			for done := false; !done; {
				if r := succeed(t, "check"); r.stdout != "" || !strings.HasPrefix(r.stderr, "No problems found in ") {
					t.Errorf("check during writes: got %v, want no findings", r)
				}
				select {
				case <-written:
					done = true
				default:
				}
			}
		})
	}
}

func TestCheckPrintsFindings(t *testing.T) {
	newFolderWithKey(t)
	s := serve(t)
	s.addPet("Rex")
	s.stop()
	connection, err := sqlite.OpenConn("animalstore.db", sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(connection, "UPDATE pets SET name_folded = 'X' || char(27); UPDATE inventory SET n = -1 WHERE status = 'sold'", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := connection.Close(); err != nil {
		t.Fatal(err)
	}
	want := result{1, "inventory sold: counted -1, found 0\n" + `pets 1: its search text is "X\x1b", but its name is "Rex"` + "\n", "animalstore: animalstore.db has 2 findings\n"}
	if r := animalstore(t, "check"); r != want {
		t.Errorf("got %v, want %v", r, want)
	}
}
