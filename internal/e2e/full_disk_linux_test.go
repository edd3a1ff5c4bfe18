package e2e

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// TestFullDiskRefusesWritesAndRecovers fills the disk while the service is running. Writes must get a 503 and
// leave no partial data, reads must succeed, and writes must succeed again as soon as there is free space.
func TestFullDiskRefusesWritesAndRecovers(t *testing.T) {
	t.Parallel()
	t.Run("file size limit", func(t *testing.T) { // this variant requires no privileges
		t.Parallel()
		f := newFolderWithKey(t)
		p := f.serve("--demo")
		testFullDisk(t, f, p, "animalstore.db",
			func() { limitFileSize(t, p, uint64(fileSize(f.path("animalstore.db-wal")))) },
			func() { limitFileSize(t, p, math.MaxUint64) })
	})
	f := newFolderWithKey(t)
	if err := os.Mkdir(f.path("disk"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("tmpfs", f.path("disk"), "tmpfs", 0, "size=4m")
	if errors.Is(err, syscall.EPERM) {
		return // only root can mount a file system
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // runs after the program has exited
		if err := syscall.Unmount(f.path("disk"), 0); err != nil {
			t.Error(err)
		}
	})
	t.Run("full file system", func(t *testing.T) {
		f.t = t
		p := f.serve("--demo", "--database", "disk/animalstore.db")
		ballast := f.path("disk/ballast")
		testFullDisk(t, f, p, "disk/animalstore.db", func() {
			file, err := os.OpenFile(ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			for err == nil {
				_, err = file.Write(make([]byte, 4096))
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			expectRefusal(t, f.run("backup", "--database", "disk/animalstore.db", "disk/backup.db"), 1, "cannot write the backup", "full")
			if left, err := filepath.Glob(f.path("disk/*backup*")); err != nil || len(left) > 0 {
				t.Errorf("files left behind: got %q, %v, want none", left, err)
			}
			if left, err := filepath.Glob(f.path("disk/.*")); err != nil || len(left) > 0 {
				t.Errorf("files left behind: got %q, %v, want none", left, err)
			}
		}, func() {
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// limitFileSize sets the maximum file size for a running program. This requires no privileges.
func limitFileSize(t *testing.T, p *program, size uint64) {
	t.Helper()
	var limit syscall.Rlimit
	prlimit := func(newLimit, oldLimit *syscall.Rlimit) {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.command.Process.Pid), syscall.RLIMIT_FSIZE,
			uintptr(unsafe.Pointer(newLimit)), uintptr(unsafe.Pointer(oldLimit)), 0, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
	}
	prlimit(nil, &limit)
	limit.Cur = min(size, limit.Max) // the hard limit cannot be exceeded
	prlimit(&limit, nil)
}

func testFullDisk(t *testing.T, f *folder, p *program, database string, fill, free func()) {
	p.databaseMayFail = true
	partner := f.createKey("--name", "partner", "--database", database)
	wanted, _ := p.create(pet{Name: "wanted", Status: "available"})
	order := fmt.Sprintf(`{"petId":%d}`, wanted.ID)
	acknowledged := len(p.walk())
	expectStatus(t, p.send("GET", "/v1/pets", partner, ""), 200)
	for round := range 3 {
		fill()
		refused := 0
		for i := 0; refused < 20; i++ {
			name := fmt.Sprintf("round %d, animal %d", round, i)
			a := p.send("POST", "/v1/pets", partner, pet{Name: name, CategoryID: int64(1000 + i)}.json(), "Content-Type: application/json",
				"Idempotency-Key: "+strings.ReplaceAll(name, " ", "-"))
			switch a.status {
			case http.StatusCreated:
				acknowledged++
			case http.StatusServiceUnavailable:
				expectError(t, a, 503, "unavailable")
				if a.header.Get("Retry-After") == "" {
					t.Error("503 without Retry-After")
				}
				refused++
			default:
				t.Fatalf("POST /v1/pets on a full disk: got %v, want status 201 or 503", a)
			}
			// The query is different each time, so the response cannot come from a cache.
			if a := p.send("GET", "/v1/pets?limit=1&q="+fmt.Sprint(round, "-", i), partner, ""); a.status != 200 {
				t.Fatalf("read on a full disk: got %v, want status 200", a)
			}
		}
		if a := p.send("POST", "/v1/store/orders", partner, order); a.status == 201 {
			expectStatus(t, p.send("PATCH", "/v1/store/orders/"+fmt.Sprint(decode[pet](t, a.body).ID), partner, `{"status":"cancelled"}`, "Content-Type: application/merge-patch+json"), 200)
		} else {
			expectError(t, a, 503, "unavailable")
			if a := p.get(fmt.Sprint("/v1/store/orders?petId=", wanted.ID)); round == 0 && a.body != "[]\n" {
				t.Errorf("orders after a refused order: got %v, want none", a)
			}
		}
		if got := len(p.walk()); got != acknowledged {
			t.Errorf("animals: got %d, want the %d acknowledged ones", got, acknowledged)
		}
		expectStatus(t, p.send("GET", "/livez", "", ""), 200)
		free()
		// The first write after disk space becomes free must succeed, without a restart.
		p.create(pet{Name: fmt.Sprint("after round ", round)})
		acknowledged++
		a := p.send("POST", "/v1/store/orders", partner, order)
		expectStatus(t, a, 201)
		expectStatus(t, p.send("PATCH", "/v1/store/orders/"+fmt.Sprint(decode[pet](t, a.body).ID), partner, `{"status":"cancelled"}`, "Content-Type: application/merge-patch+json"), 200)
		f.mustRun("check", "--database", database)
	}
	if got := len(p.walk()); got != acknowledged {
		t.Errorf("animals: got %d, want the %d acknowledged ones", got, acknowledged)
	}
	p.stop()
	f.mustRun("check", "--database", database)
	q := f.serve("--database", database)
	if got := len(q.walk()); got != acknowledged {
		t.Errorf("animals after a restart: got %d, want %d", got, acknowledged)
	}
	q.stop()
}

// TestBackupOnFullDiskLeavesNoFiles simulates a full disk with a limit on the file size, which requires no
// privileges.
func TestBackupOnFullDiskLeavesNoFiles(t *testing.T) {
	t.Parallel()
	f := newFolderWithKey(t)
	f.serve("--demo").stop()
	f.mustRun("backup", "whole.db")
	before := f.names()
	r := f.shell("ulimit -f 64; animalstore backup b.db")
	expectRefusal(t, r, 1, "cannot write the backup")
	r = f.shell("ulimit -f 64; animalstore restore --force whole.db")
	expectRefusal(t, r, 1, "whole.db")
	for _, name := range f.names() {
		if !slices.Contains(before, name) && !strings.HasPrefix(name, "animalstore.db-") {
			t.Errorf("%s was left behind", name)
		}
	}
	f.mustRun("check")
}
