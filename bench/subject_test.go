package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

// subject is a running server that is measured.
type subject struct {
	name   string
	url    string // the base URL without a path
	folder *programtest.Folder
	binary string
	pid    int // of the service
}

// animals is the number of animals in a store before the measurement. Eight of ten are available.
const animals = 500_000

// availableID returns the id of the nth available animal, counting from 0.
func availableID(n int) int { return n/8*10 + n%8 + 1 }

// rows returns n rows of a CSV file with animals in 20 categories.
func rows(n int) string {
	statuses := [10]string{8: "pending", 9: "sold"}
	var b strings.Builder
	b.WriteString("name,categoryId,status\n")
	for i := range n {
		status := statuses[i%10]
		if status == "" {
			status = "available"
		}
		fmt.Fprintf(&b, "Animal %d,%d,%s\n", i+1, i%20+1, status)
	}
	return b.String()
}

// servicesOnSQLite fills a store with version 1.1, copies it, and starts both versions. This version upgrades its copy.
func servicesOnSQLite(t *testing.T, binaries map[string]string) []*subject {
	t.Helper()
	const name = "animalstore.db"
	old := filledStore(t, binaries[oldVersion], name)
	folder := programtest.NewFolderWithKey(t)
	if r := old.Shell("cp " + name + "* " + folder.Dir); r.Code != 0 {
		t.Fatal(r)
	}
	return []*subject{start(t, newVersion, binaries[newVersion], folder, name), start(t, oldVersion, binaries[oldVersion], old, name)}
}

// servicesOnPostgres is like servicesOnSQLite, but with two databases of a server.
func servicesOnPostgres(t *testing.T, binaries map[string]string, server *pgtest.Server) []*subject {
	t.Helper()
	url := func(database string) string {
		return strings.Replace(server.URL(), "/animalstore?", "/"+database+"?", 1)
	}
	direct := pgtest.Connect(t, server.URL())
	direct.Do("CREATE DATABASE old_version")
	old := filledStore(t, binaries[oldVersion], url("old_version"))
	direct.Do("CREATE DATABASE new_version TEMPLATE old_version")
	subjects := []*subject{
		start(t, newVersion, binaries[newVersion], programtest.NewFolderWithKey(t), url("new_version")),
		start(t, oldVersion, binaries[oldVersion], old, url("old_version")),
	}
	for _, database := range []string{"old_version", "new_version"} {
		pgtest.Connect(t, url(database)).Do("VACUUM ANALYZE")
	}
	return subjects
}

// filledStore imports the animals into a new store with the given binary and stops it again.
func filledStore(t *testing.T, binary, database string) *programtest.Folder {
	t.Helper()
	folder := programtest.NewFolderWithKey(t)
	var filler *subject
	t.Run("fill", func(t *testing.T) { // the service ends with this test
		filler = start(t, oldVersion, binary, folder, database)
		filler.importFile(t, rows(animals))
	})
	return folder
}

var listening = regexp.MustCompile(`msg=listening addr=(\S+) .*\n`)

// start starts a binary of the service and waits until its background work is done. It stops the service when the test
// ends. The log goes to a file, because reading it would take processor time from the subjects.
func start(t *testing.T, name, binary string, folder *programtest.Folder, database string) *subject {
	t.Helper()
	log, err := os.CreateTemp(folder.Dir, "log-")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--database", database)
	command.Dir, command.Env, command.Stdout, command.Stderr = folder.Dir, folder.Environment(), log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Signal(syscall.SIGTERM) // fails if the service has already exited
		if err := command.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	s := &subject{name: name, folder: folder, binary: binary, pid: command.Process.Pid}
	programtest.Await(t, name+" to listen", func() bool {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		found := listening.FindSubmatch(text)
		if found != nil {
			s.url = "http://" + string(found[1])
		}
		return found != nil
	})
	s.awaitIndex(t)
	return s
}

var indexed = regexp.MustCompile(`(?m)^animalstore_search_unindexed 0$`)

// awaitIndex waits until all names are in the search index, so that indexing does not disturb the next turn.
func (s *subject) awaitIndex(t *testing.T) {
	t.Helper()
	programtest.Await(t, "the search index", func() bool {
		got, err := s.send("GET", "/metrics", "")
		if err != nil {
			t.Fatal(err)
		}
		return indexed.Match(got.body)
	})
}

// importFile imports a CSV file with the import command.
func (s *subject) importFile(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(s.folder.Dir, "pets.csv")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(s.binary, "import", "--url", s.url+"/v1", file)
	command.Env = append(s.folder.Environment(), "ANIMALSTORE_KEY="+programtest.AdminKey)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// newBare starts a bare handler in this process, which does nothing else while a subject is measured.
func newBare(t *testing.T, handler http.Handler) *subject {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &subject{name: bare, url: server.URL, folder: programtest.NewFolderWithKey(t)}
}
