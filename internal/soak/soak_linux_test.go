package soak

import (
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/workload"
)

// TestSoak runs many clients that use the whole API concurrently. Meanwhile, it kills the service, fills the disk and
// cuts connections. Afterwards, every acknowledged change must exist exactly once, and every follower must have
// received the event for each change.
//
// The environment variable SOAK sets the duration. If SOAK_SEED is set to the seed of an earlier run, the random
// requests and faults of that run are repeated.
func TestSoak(t *testing.T) {
	if os.Getenv("SOAK") == "" {
		t.Skip("runs by hand: set SOAK to the duration, for example SOAK=10m")
	}
	length, err := time.ParseDuration(os.Getenv("SOAK"))
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
		f := programtest.NewFolderWithKey(t)
		s := newSoak(t, f, seed, 1)
		s.faults, s.mildFaults = append(s.faults, s.fillDisk, s.killOnFullDisk), append(s.mildFaults, s.fillDisk)
		s.run(length)
		f.MustRun("check")
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		proxy := pgtest.StartProxy(t, pgtest.Shared(t).NewDatabase(t))
		// The service is configured to close idle database connections quickly, because the check for resource leaks
		// would mistake idle connections for a leak.
		f := programtest.NewFolderWithKey(t, "ANIMALSTORE_DATABASE="+proxy.URL()+"&pool_max_conn_idle_time=1s")
		s := newSoak(t, f, seed, 2)
		s.DatabaseFails = true
		s.faults = append(s.faults, func() {
			proxy.Cut()
			time.Sleep(workload.RandomTime(0, 300))
			proxy.Heal()
			s.injected["database outage"]++
		})
		s.run(length / 2)
	})
}

// fillDisk simulates a disk that fills up in the middle of a transaction. It waits until writes fail while
// reads still succeed, frees disk space and expects writes to succeed again without a restart.
func (s *soak) fillDisk() {
	s.t.Helper()
	s.exhaustDisk()
	s.nodes[0].LimitFileSize(math.MaxUint64)
	s.awaitGrowth("writes to be acknowledged again", &s.Acknowledged)
}

// killOnFullDisk kills the node while its disk is full and restarts it with free disk space.
func (s *soak) killOnFullDisk() {
	s.t.Helper()
	s.exhaustDisk()
	s.killNode()
}

func (s *soak) exhaustDisk() {
	s.t.Helper()
	s.injected["full disk"]++
	log, err := os.Stat(s.folder.Path("animalstore.db-wal"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.nodes[0].LimitFileSize(uint64(log.Size()) + uint64(s.rng.IntN(100_000)))
	time.Sleep(workload.RandomTime(0, 200))
	s.nodes[0].LimitFileSize(0)
	s.awaitGrowth("writes to be rejected", &s.Unavailable)
	s.awaitGrowth("reads to succeed", &s.Reads)
}
