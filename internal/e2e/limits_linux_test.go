package e2e

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"animalstore/internal/programtest"
)

// TestFullDiskRefusesWritesAndRecovers fills the disk while the service is running. Writes must get a 503 and leave no
// partial data, reads must succeed, and writes must succeed again as soon as there is free space.
//
// The first subtest limits the file size, which requires no privileges. The second subtest fills a file system, so
// that writes fail with another error. It requires the privilege to mount a file system.
func TestFullDiskRefusesWritesAndRecovers(t *testing.T) {
	t.Parallel()
	t.Run("file size limit", func(t *testing.T) {
		t.Parallel()
		f := programtest.NewFolderWithKey(t)
		p := f.Serve("--demo")
		testFullDisk(t, f, p, "animalstore.db", "The disk or the files of the database failed",
			func() { p.LimitFileSize(uint64(fileSize(f.Path("animalstore.db-wal")))) },
			func() { p.LimitFileSize(math.MaxUint64) })
	})
	t.Run("full file system", func(t *testing.T) {
		t.Parallel()
		f := programtest.NewFolderWithKey(t)
		must(t, os.Mkdir(f.Path("disk"), 0o700))
		err := syscall.Mount("tmpfs", f.Path("disk"), "tmpfs", 0, "size=16m")
		if errors.Is(err, syscall.EPERM) {
			t.Skip("mounting a tmpfs needs CAP_SYS_ADMIN; the file size limit proves the promise without it")
		} else if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // this cleanup runs after the program has exited
			if err := syscall.Unmount(f.Path("disk"), 0); err != nil {
				t.Error(err)
			}
		})
		p := f.Serve("--demo", "--database", "disk/animalstore.db")
		ballast := f.Path("disk/ballast")
		testFullDisk(t, f, p, "disk/animalstore.db", "the disk is full", func() {
			file, err := os.OpenFile(ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			must(t, err)
			defer file.Close()
			for err == nil {
				_, err = file.Write(make([]byte, 4096))
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			r := f.Run("backup", "--database", "disk/animalstore.db", "disk/backup.db")
			programtest.ExpectRefusal(t, r, 1, "cannot write the backup", "full")
			if left, err := filepath.Glob(f.Path("disk/*backup*")); err != nil || len(left) > 0 {
				t.Errorf("files left behind: got %q, %v, want none", left, err)
			}
		}, func() {
			must(t, os.Remove(ballast))
		})
	})
}

// testFullDisk fills the disk and frees it again, twice. While the disk is full, /readyz must say reason.
func testFullDisk(t *testing.T, f *programtest.Folder, p *programtest.Program, database, reason string, fill, free func()) {
	p.DatabaseMayFail = true
	partner := f.CreateKey("--name", "partner", "--database", database)
	wanted, _ := p.Create(programtest.Pet{Name: "wanted", Status: "available"})
	order := func() programtest.Response {
		a := p.Send("POST", "/v1/store/orders", partner, fmt.Sprintf(`{"petId":%d}`, wanted.ID))
		if a.Status == 201 { // make the animal available again
			path := fmt.Sprint("/v1/store/orders/", programtest.Decode[programtest.Pet](t, a.Body).ID)
			programtest.ExpectStatus(t, p.Send("PATCH", path, partner, `{"status":"cancelled"}`), 200)
		}
		return a
	}
	expectAnimals := func(p *programtest.Program, want int) {
		t.Helper()
		if got := len(p.Walk()); got != want {
			t.Errorf("animals: got %d, want the %d acknowledged ones", got, want)
		}
	}
	acknowledged := len(p.Walk())
	programtest.ExpectStatus(t, p.Send("GET", "/v1/pets", partner, ""), 200)
	for round := range 2 {
		fill()
		refused := 0
		for i := 0; refused < 5; i++ {
			name := fmt.Sprintf("round %d, animal %d", round, i)
			pet := programtest.Pet{Name: name, CategoryID: int64(1000 + i)}.JSON()
			if a := p.Send("POST", "/v1/pets", partner, pet, "Idempotency-Key: "+name); a.Status == http.StatusCreated {
				acknowledged++
			} else {
				programtest.ExpectError(t, a, 503, "unavailable")
				if a.Header.Get("Retry-After") == "" {
					t.Error("503 without Retry-After")
				}
				refused++
			}
			if refused > 0 {
				expectNotReady(t, p, reason)
			}
			// The query is different each time, so the response cannot come from a cache.
			if a := p.Send("GET", "/v1/pets?limit=1&q="+fmt.Sprint(round, "-", i), partner, ""); a.Status != 200 {
				t.Fatalf("read on a full disk: got %v, want status 200", a)
			}
		}
		if a := order(); a.Status != 201 {
			programtest.ExpectError(t, a, 503, "unavailable")
			if a := p.Get(fmt.Sprint("/v1/store/orders?petId=", wanted.ID)); round == 0 && a.Body != "[]\n" {
				t.Errorf("orders after a refused order: got %v, want none", a)
			}
		}
		expectAnimals(p, acknowledged)
		programtest.ExpectStatus(t, p.Send("GET", "/livez", "", ""), 200)
		free()
		// The first write after disk space becomes free must succeed, without a restart.
		p.Create(programtest.Pet{Name: fmt.Sprint("after round ", round)})
		acknowledged++
		awaitReadyAgain(t, p)
		programtest.ExpectStatus(t, order(), 201)
		f.MustRun("check", "--database", database)
	}
	expectAnimals(p, acknowledged)
	p.Stop()
	f.MustRun("check", "--database", database)
	expectAnimals(f.Serve("--database", database), acknowledged)
}

// expectNotReady checks that /readyz fails and says the reason.
func expectNotReady(t *testing.T, p *programtest.Program, reason string) {
	t.Helper()
	a := p.Send("GET", "/readyz", "", "")
	if programtest.ExpectError(t, a, 503, "unavailable"); !strings.Contains(a.Body, reason) {
		t.Errorf("GET /readyz: got %v, want the reason %q", a, reason)
	}
}

func awaitReadyAgain(t *testing.T, p *programtest.Program) {
	t.Helper()
	programtest.Await(t, "/readyz to succeed", func() bool { return p.Send("GET", "/readyz", "", "").Status == 200 })
}

// TestServiceStartsOnFullDisk starts the service with a limit on the file size that leaves no room for writes. It must
// serve reads, say in /readyz that it cannot write, and become ready without a restart when the limit is lifted.
func TestServiceStartsOnFullDisk(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	f.Serve("--demo").Kill() // a service that is stopped would leave a short WAL
	p := f.Launch(exec.Command("sh", "-c", "ulimit -S -f 128; exec animalstore serve --addr 127.0.0.1:0"))
	p.DatabaseMayFail = true
	p.AwaitReady()
	for range 3 {
		expectNotReady(t, p, "The disk or the files of the database failed")
	}
	if len(p.Walk()) == 0 {
		t.Error("no animals were found")
	}
	p.LimitFileSize(math.MaxUint64)
	awaitReadyAgain(t, p)
	p.Create(programtest.Pet{Name: "Rex"})
	p.Stop()
	// Without space for the -shm file, the store cannot even be read, and the service says why it exits.
	r := f.Shell("ulimit -f 8; animalstore serve --addr 127.0.0.1:0")
	programtest.ExpectRefusal(t, r, 1, "cannot open the database", "the disk is full")
}

// TestScheduledBackupSurvivesFullDisk starts the service with a limit on the file size that the backup exceeds. The
// service must report the failure, leave no files and continue to work.
func TestScheduledBackupSurvivesFullDisk(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	f.Serve("--demo").Stop()
	must(t, os.Mkdir(f.Path("backups"), 0o700))
	// Depending on the shell, ulimit -f counts blocks of 512 or 1,024 bytes.
	blocks := fileSize(f.Path("animalstore.db")) / 4 / 512
	p := f.Launch(exec.Command("sh", "-c", fmt.Sprintf("ulimit -S -f %d; exec animalstore serve --addr 127.0.0.1:0 --backup-dir backups", blocks)))
	p.DatabaseMayFail = true
	p.AwaitReady()
	p.AwaitOutput("a failed backup", func(output string) bool { return strings.Contains(output, `msg="backup failed"`) })
	p.LimitFileSize(math.MaxUint64)
	if body := p.Get("/metrics").Body; !strings.Contains(body, "animalstore_backup_failures_total 1\n") {
		t.Error("the metrics do not count the failed backup")
	}
	p.Create(programtest.Pet{Name: "Rex"})
	p.Stop()
	entries, err := os.ReadDir(f.Path("backups"))
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != ".animalstore.lock" {
		t.Errorf("files in the folder: got %v, want only the lock", entries)
	}
}

// TestBackupOnFullDiskLeavesNoFiles runs a backup and a restore on a full disk, which it simulates with a limit on
// the file size. Neither may leave files behind.
func TestBackupOnFullDiskLeavesNoFiles(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	f.Serve("--demo").Stop()
	f.MustRun("backup", "whole.db")
	before := f.Names()
	programtest.ExpectRefusal(t, f.Shell("ulimit -f 64; animalstore backup b.db"), 1, "cannot write the backup")
	programtest.ExpectRefusal(t, f.Shell("ulimit -f 64; animalstore restore --force whole.db"), 1, "whole.db")
	for _, name := range f.Names() {
		if !slices.Contains(before, name) && !strings.HasPrefix(name, "animalstore.db-") {
			t.Errorf("%s was left behind", name)
		}
	}
	f.MustRun("check")
}

// TestServiceSurvivesDescriptorExhaustion opens more connections than the service's limit on open files allows. The
// service must lower its connection limit and continue to serve clients, even if it has not opened all database files
// yet.
func TestServiceSurvivesDescriptorExhaustion(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	const limit, clients = 100, 8
	command := exec.Command("sh", "-c", fmt.Sprintf("ulimit -n %d; exec animalstore serve --addr 127.0.0.1:0", limit))
	command.Env = []string{"GOMAXPROCS=2"} // GOMAXPROCS determines the number of database connections
	p := f.Launch(command)
	p.AwaitReady()
	if !strings.Contains(p.Output.String(), "connection limit lowered") {
		t.Error("the log does not report the lowered connection limit")
	}
	if got := p.Metric("animalstore_connections_limit"); got != limit/4*3 {
		t.Errorf("connection limit: got %v, want %d", got, limit/4*3)
	}
	served := make([]*programtest.Program, clients)
	for i := range served { // each client has one connection, which has not used the database yet
		own := *p
		own.Client = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: programtest.WaitTimeout}
		t.Cleanup(own.Client.CloseIdleConnections)
		programtest.ExpectStatus(t, own.Send("GET", "/livez", "", ""), 200)
		served[i] = &own
	}
	var working sync.WaitGroup
	for i, p := range served {
		working.Go(func() {
			// The service may drop a connection that is waiting for its next request. The client then retries.
			request := func(want int, method, path, body string) {
				a, err := programtest.Response{}, error(nil)
				programtest.Await(t, "a response", func() bool {
					a, err = p.Try(method, path, programtest.AdminKey, body, "Idempotency-Key: "+fmt.Sprint(i, "-", body))
					return err == nil
				})
				if a.Status != want || !strings.Contains(a.Body, `"name"`) {
					t.Errorf("%s %s: got %v, want status %d and the animal", method, path, a, want)
				}
			}
			for n := range 5 {
				request(201, "POST", "/v1/pets", programtest.Pet{Name: fmt.Sprintf("%d of %d", n, i)}.JSON())
				request(200, "GET", fmt.Sprintf("/v1/pets?q=%d+of+%d", n, i), "")
			}
		})
	}
	for range 2 * limit { // these connections stay idle, so the service may drop some of them
		openConnection(p, "")
	}
	working.Wait()
	p.Client.CloseIdleConnections()
	programtest.ExpectStatus(t, p.Send("GET", "/v1/pets", programtest.AdminKey, ""), 200)
	// The last connections that the service dropped may still be closing.
	programtest.Await(t, "fewer open descriptors than the limit", func() bool {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", command.Process.Pid))
		return err == nil && len(entries) < limit
	})
	p.Stop()
}
