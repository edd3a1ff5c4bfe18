// Package upgrade replaces earlier releases with this version. Without the -upgrade flag, nothing runs, because the
// releases must be built from the git history:
//
//	go test -run '^TestUpgrade$' -timeout 0 -v ./internal/upgrade -upgrade
package upgrade

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/workload"
)

func TestMain(m *testing.M) { programtest.Main(m) }

var upgrade = flag.Bool("upgrade", false, "run the upgrades from the earlier releases, which are built from the git history")

// TestUpgrade upgrades stores of the earlier releases. All nodes of the release stop for it. The migration is killed
// several times, at different moments, before it may finish. No acknowledged change may be lost or made twice, every
// follower and every webhook must receive every event, and keys, sessions, cursors and ETags must remain valid. A node
// of the release that was left running must not write any more, and a new one must refuse to start.
func TestUpgrade(t *testing.T) {
	if !*upgrade {
		t.Skip("runs by hand: make upgrade-test")
	}
	for _, release := range []programtest.Release{programtest.Version10, programtest.Version11} {
		binary := release.Build(t)
		t.Run(release.Version+" on a file", func(t *testing.T) {
			t.Parallel()
			f := programtest.NewFolderWithKey(t)
			u := newUpgrade(t, binary, f, 1)
			u.copyStore = func() *programtest.Folder {
				twin := programtest.NewFolderWithKey(t)
				if r := f.Shell("cp animalstore.db* " + twin.Dir); r.Code != 0 {
					t.Fatal(r)
				}
				return twin
			}
			u.run()
		})
		t.Run(release.Version+" on a server", func(t *testing.T) {
			t.Parallel()
			server := pgtest.Start(t)
			database := func(name string) string {
				return "ANIMALSTORE_DATABASE=" + strings.Replace(server.URL(), "/animalstore?", "/"+name+"?", 1)
			}
			direct := pgtest.Connect(t, server.URL())
			direct.Do("CREATE DATABASE shop")
			u := newUpgrade(t, binary, programtest.NewFolderWithKey(t, database("shop")), 2)
			u.copyStore = func() *programtest.Folder {
				direct.Do("CREATE DATABASE twin TEMPLATE shop")
				return programtest.NewFolderWithKey(t, database("twin"))
			}
			u.run()
		})
	}
}

const (
	// steps is the number of operations before and after the upgrade.
	steps = 1000
	// imported is the number of animals that are imported, so that the migration takes long enough to be killed.
	imported = 200_000
)

// storeUpgrade is the upgrade of one store.
type storeUpgrade struct {
	t         *testing.T
	release   string // the binary of the release
	folder    *programtest.Folder
	copyStore func() *programtest.Folder // returns the folder of a copy of the store, while no node is running
	load      *workload.Load
	nodes     []*programtest.Program
}

func newUpgrade(t *testing.T, release string, f *programtest.Folder, nodes int) *storeUpgrade {
	t.Helper()
	u := &storeUpgrade{t: t, release: release, folder: f, load: workload.New(t, rand.Uint64(), nodes), nodes: make([]*programtest.Program, nodes)}
	u.load.Retries = 4 // the default of the Go client
	return u
}

// launch starts a node without waiting until it is ready.
func launch(f *programtest.Folder, binary string) *programtest.Program {
	f.T.Helper()
	node := f.Launch(exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--order-hold", "3s", "--webhook-allow-private"))
	node.DatabaseMayFail = true
	return node
}

// startNodes starts all nodes with the given binary and makes the load use them.
func (u *storeUpgrade) startNodes(binary string) {
	u.t.Helper()
	for i := range u.nodes {
		u.nodes[i] = launch(u.folder, binary)
		u.nodes[i].AwaitReady()
		u.load.SetNode(i, u.nodes[i])
	}
}

func (u *storeUpgrade) stopNodes() {
	u.t.Helper()
	for i, node := range u.nodes {
		u.load.SetNode(i, nil)
		node.Stop()
	}
}

// applyLoad runs the clients until they have done enough operations.
func (u *storeUpgrade) applyLoad() {
	u.t.Helper()
	stop := u.load.Start()
	enough := u.load.Acknowledged.Load() + steps
	programtest.Await(u.t, "operations to be acknowledged", func() bool { return u.load.Acknowledged.Load() >= enough || u.load.Failed() })
	stop()
}

func (u *storeUpgrade) run() {
	u.t.Helper()
	u.startNodes(u.release)
	steady := u.load.NewReceiver(client.EventOrderPlaced, client.EventOrderApproved, client.EventOrderDelivered, client.EventOrderCancelled,
		client.EventOrderExpired)
	flaky, disabled := u.load.NewReceiver(categoryEvents...), u.load.NewReceiver(categoryEvents...)
	flaky.RefusesFirst = true
	disabled.Enable(false)
	u.importPets()
	kept := keepPromises(u.load, u.nodes[0])
	u.applyLoad()
	u.stopNodes()
	took := u.timeMigration()
	forgotten := u.forgetNode()
	u.killMigration(took)
	u.startNodes(programtest.Binary(u.t))
	if forgotten != nil {
		checkForgotten(forgotten)
	}
	u.applyLoad()
	for _, node := range u.nodes {
		kept.check(node)
	}
	disabled.Enable(true)
	u.load.Check()
	for _, r := range []*workload.Receiver{steady, flaky, disabled} {
		r.Check()
	}
	u.stopNodes()
	u.folder.MustRun("check")
	programtest.ExpectRefusal(u.t, u.folder.RunCommand(u.release, "serve", "--addr", programtest.TakenAddr(u.t)), 1, "newer animalstore")
}

var categoryEvents = []client.EventType{client.EventCategoryCreated, client.EventCategoryUpdated, client.EventCategoryDeleted}

// importPets imports many animals.
func (u *storeUpgrade) importPets() {
	u.t.Helper()
	var names []string
	var text strings.Builder
	text.WriteString("name,categoryId,status\n")
	for i := range imported {
		names = append(names, fmt.Sprint("Imported ", i))
		fmt.Fprintf(&text, "%s,%d,available\n", names[i], 777_000+i%10)
	}
	file := filepath.Join(u.folder.Dir, "pets.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		u.t.Fatal(err)
	}
	r := u.folder.RunCommand("env", "ANIMALSTORE_KEY="+programtest.AdminKey, u.release, "import", "--url", u.nodes[0].URL+"/v1", file)
	if r.Code != 0 {
		u.t.Fatal(r)
	}
	u.load.RecordImport(names)
}

// timeMigration starts this version on a copy of the store and returns how long that took.
func (u *storeUpgrade) timeMigration() time.Duration {
	u.t.Helper()
	twin := u.copyStore()
	began := time.Now()
	node := launch(twin, programtest.Binary(u.t))
	node.AwaitReady()
	took := time.Since(began)
	node.Stop()
	u.t.Logf("the first start of this version took %v", took)
	return took
}

// killMigration starts this version and kills it at different moments of the migration.
func (u *storeUpgrade) killMigration(took time.Duration) {
	u.t.Helper()
	for _, part := range []float64{0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97} {
		node := launch(u.folder, programtest.Binary(u.t))
		time.Sleep(time.Duration(part * float64(took)))
		node.Kill()
	}
}

// forgetNode starts a node of the release that keeps running during the upgrade. It returns nil if the store is a file,
// which only one node at a time can use.
func (u *storeUpgrade) forgetNode() *programtest.Program {
	u.t.Helper()
	if len(u.nodes) == 1 {
		return nil
	}
	node := launch(u.folder, u.release)
	node.MayFail = true
	node.AwaitReady()
	return node
}

// checkForgotten checks that a node of the release can no longer write, and kills it.
func checkForgotten(node *programtest.Program) {
	node.T.Helper()
	for _, request := range [][2]string{
		{"/v1/pets", `{"name":"Forgotten","categoryId":1,"status":"available"}`},
		{"/v1/store/orders", `{"petId":1}`},
		{"/v1/categories", `{"name":"Forgotten"}`},
	} {
		if a := node.Send("POST", request[0], programtest.AdminKey, request[1]); a.Status < http.StatusInternalServerError {
			node.T.Errorf("POST %s to a node of the release: got %v, want a failure of the server", request[0], a)
		}
	}
	node.Kill()
}
