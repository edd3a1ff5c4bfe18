package e2e

import (
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

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
		s.faults, s.mildFaults = append(s.faults, s.fillDisk, s.killOnFullDisk), append(s.mildFaults, s.fillDisk)
		s.run(length)
		f.mustRun("check")
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		proxy := pgtest.StartProxy(t, pgtest.Shared(t).NewDatabase(t))
		// It gives its connections back soon: those that it keeps for the next load would look as if they were lost.
		f := newFolder(t, "ANIMALSTORE_API_KEY="+adminKey, "ANIMALSTORE_DATABASE="+proxy.URL()+"&pool_max_conn_idle_time=1s")
		s := newSoak(t, f, seed, 2)
		s.databaseFails = true
		s.faults = append(s.faults, func() {
			proxy.Cut()
			s.pause(0, 300)
			proxy.Heal()
			s.databaseCuts++
		})
		s.run(length / 2)
	})
}

// fillDisk leaves no room for a while: for some writes, which may stop in the middle of a transaction, and then for none.
// What is written is refused, and reads go on, which is for the visitors to find out. It goes on by itself when there is room.
func (s *soak) fillDisk() {
	s.t.Helper()
	s.exhaustDisk()
	limitFiles(s.t, s.nodes[0], math.MaxUint64)
	s.awaitGrowth("what is written to be acknowledged again", &s.acknowledged, 20)
}

// killOnFullDisk starts it again where there is room.
func (s *soak) killOnFullDisk() {
	s.t.Helper()
	s.exhaustDisk()
	s.killNode()
}

func (s *soak) exhaustDisk() {
	s.t.Helper()
	s.fullDisks++
	log, err := os.Stat(s.folder.path("animalstore.db-wal"))
	if err != nil {
		s.t.Fatal(err)
	}
	limitFiles(s.t, s.nodes[0], uint64(log.Size())+uint64(s.rng.IntN(100_000)))
	s.pause(0, 200)
	limitFiles(s.t, s.nodes[0], 0)
	s.awaitGrowth("what is written to be refused", &s.unavailable, 20)
	s.awaitGrowth("reads to go on", &s.reads, 20)
}
