package e2e

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"animalstore/internal/pgtest"
)

// TestSoak lets many visitors do everything at once for a while, and meanwhile kills the service, fills its disk and cuts
// connections. Then everything that was acknowledged must be there, once, and everybody must have been told of it.
//
// SOAK is how long it takes (a minute), and SOAK_SEED makes the same choices again.
func TestSoak(t *testing.T) {
	t.Parallel()
	length, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "1m"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("SOAK_SEED"), strconv.FormatUint(rand.Uint64(), 10)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("SOAK=%s SOAK_SEED=%d", length, seed)
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		f := newFolderWithKey(t)
		s := newSoak(t, f, seed, 1)
		s.faults, s.mild = append(s.faults, s.fillDisk, s.killOnFullDisk), append(s.mild, s.fillDisk)
		s.run(length)
		checkIntegrity(t, f.path("animalstore.db"))
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		proxy := pgtest.StartProxy(t, pgtest.Shared(t).NewDatabase(t))
		f := newFolder(t, "ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_DATABASE="+proxy.URL())
		s := newSoak(t, f, seed, 2)
		s.busy = true
		s.faults = append(s.faults, func() {
			proxy.Cut()
			s.pause(0, 300)
			proxy.Heal()
			s.databaseCuts++
		})
		s.run(length / 2)
	})
}

// limitFiles lets a running program write no file beyond a size. It then gets an error from the system, as on a full disk, for
// which no rights are needed.
func (p *program) limitFiles(size uint64) {
	p.t.Helper()
	limit := syscall.Rlimit{Cur: size, Max: math.MaxUint64}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.command.Process.Pid), syscall.RLIMIT_FSIZE,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		p.t.Fatal(errno)
	}
}

// fillDisk leaves no room for a while: for some writes, which may stop in the middle of a transaction, and then for none.
// What is written is refused, and reads go on, which is for the visitors to find out. It goes on by itself when there is room.
func (s *soak) fillDisk() {
	s.t.Helper()
	s.fill()
	s.nodes[0].limitFiles(math.MaxUint64)
	s.await("what is written to be acknowledged again", &s.acknowledged, 20)
}

// killOnFullDisk starts it again where there is room.
func (s *soak) killOnFullDisk() {
	s.t.Helper()
	s.fill()
	s.kill()
}

func (s *soak) fill() {
	s.t.Helper()
	s.fullDisks++
	log, err := os.Stat(s.folder.path("animalstore.db-wal"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.nodes[0].limitFiles(uint64(log.Size()) + uint64(s.dice.IntN(100_000)))
	s.pause(0, 200)
	s.nodes[0].limitFiles(0)
	s.await("what is written to be refused", &s.unavailable, 20)
	s.await("reads to go on", &s.looks, 20)
}

// measures are those of a process at rest that must not grow for ever.
type measures struct{ goroutines, descriptors, heap, resident float64 }

func (m measures) String() string {
	return fmt.Sprintf("%g goroutines, %g descriptors, %.1f MiB in the heap and %.1f MiB resident", m.goroutines, m.descriptors, m.heap/(1<<20), m.resident/(1<<20))
}

// measure reads the metrics of the first node after a collection of what nobody needs any more.
func (s *soak) measure() (m measures) {
	s.t.Helper()
	s.nodes[0].get("/debug/pprof/heap?gc=1")
	s.nodes[0].client.CloseIdleConnections()
	wanted := map[string]*float64{
		"go_goroutines": &m.goroutines, "process_open_fds": &m.descriptors,
		"go_memstats_heap_inuse_bytes": &m.heap, "process_resident_memory_bytes": &m.resident,
	}
	for line := range strings.Lines(s.nodes[0].get("/metrics").body) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if into := wanted[name]; into != nil {
			var err error
			if *into, err = strconv.ParseFloat(value, 64); err != nil {
				s.t.Fatal(err)
			}
			delete(wanted, name)
		}
	}
	if len(wanted) > 0 {
		s.t.Fatalf("there is no metric for %v", wanted)
	}
	return m
}

// returns waits until a process that has nothing to do is as it was before. It may take its time for it, and keep a little: what
// it never gives back grows with every request, and there are thousands.
func (s *soak) returns(before measures) (after measures) {
	s.t.Helper()
	await(s.t, "goroutines, descriptors and memory to come back", func() bool {
		after = s.measure()
		return after.goroutines <= before.goroutines+20 && after.descriptors <= before.descriptors+20 &&
			after.heap <= before.heap+16<<20 && after.resident <= before.resident+128<<20
	})
	return after
}
