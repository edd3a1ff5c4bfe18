// Package soak runs the whole service under load for as long as you like, injects faults, and checks afterwards that
// no acknowledged write is lost or duplicated. It runs only if the environment variable SOAK is set:
//
//	SOAK=10m go test -run '^TestSoak$' -timeout 0 -v ./internal/soak
package soak

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/programtest"
	"animalstore/internal/workload"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// soak puts a store under load and injects faults.
type soak struct {
	*workload.Load
	t          *testing.T
	rng        *rand.Rand // used to choose the faults
	folder     *programtest.Folder
	nodes      []*programtest.Program
	faults     []func()
	mildFaults []func()       // the faults that do not end a process
	injected   map[string]int // how many faults of each kind have been injected
}

// newSoak starts the nodes and creates the load.
func newSoak(t *testing.T, f *programtest.Folder, seed uint64, nodes int) *soak {
	t.Helper()
	s := &soak{Load: workload.New(t, seed, nodes), t: t, rng: rand.New(rand.NewPCG(seed, 3000)), folder: f,
		nodes: make([]*programtest.Program, nodes), injected: map[string]int{}}
	for i := range nodes {
		s.startNode(i)
	}
	s.faults, s.mildFaults = []func(){s.killNode, s.killNode, s.stopNode, s.CutConnections}, []func(){s.CutConnections}
	return s
}

func (s *soak) startNode(i int) {
	s.t.Helper()
	s.nodes[i] = s.folder.Serve("--order-hold", "3s")
	s.nodes[i].DatabaseMayFail = true
	s.SetNode(i, s.nodes[i])
}

// restartNode ends a random node and starts it again.
func (s *soak) restartNode(kind string, end func(*programtest.Program)) {
	s.t.Helper()
	i := s.rng.IntN(len(s.nodes))
	s.SetNode(i, nil)
	end(s.nodes[i])
	s.nodes[i].Output.Trim()
	s.injected[kind]++
	s.startNode(i)
}

func (s *soak) killNode() { s.restartNode("kill", (*programtest.Program).Kill) }
func (s *soak) stopNode() { s.restartNode("stop", (*programtest.Program).Stop) }

// awaitGrowth waits until the given counter has grown by 20 or a problem has been found.
func (s *soak) awaitGrowth(what string, number *atomic.Int64) {
	s.t.Helper()
	enough := number.Load() + 20
	programtest.Await(s.t, what, func() bool { return number.Load() >= enough || s.Failed() })
}

// run injects all faults for two thirds of the given duration. Then it restarts a node, measures the idle
// node's resource usage and injects only mild faults under load. Finally, it checks everything that was
// recorded and expects the node's resource usage to return to the measured values.
func (s *soak) run(length time.Duration) {
	s.t.Helper()
	stop := s.Start()
	end := time.Now().Add(length * 2 / 3)
	for n := 0; (n < len(s.faults) || time.Now().Before(end)) && !s.Failed(); n++ {
		time.Sleep(workload.RandomTime(100, 1500))
		if n < len(s.faults) { // inject each fault at least once
			s.faults[n]()
		} else {
			s.faults[s.rng.IntN(len(s.faults))]()
		}
	}
	stop()
	s.killNode()
	stop = s.Start() // warm up before measuring the resource usage
	time.Sleep(length / 12)
	stop()
	before := s.awaitSteadyUsage()
	stop = s.Start()
	for end := time.Now().Add(length / 4); time.Now().Before(end) && !s.Failed(); {
		time.Sleep(workload.RandomTime(500, 1500))
		s.mildFaults[s.rng.IntN(len(s.mildFaults))]()
	}
	stop()
	s.Check()
	s.t.Logf("faults: %v", s.injected)
	s.awaitUsageBack(before)
	for _, node := range s.nodes {
		node.Stop()
	}
}

// resourceUsage contains the resources that an idle process uses. If they grow over time, there is a leak.
type resourceUsage struct{ goroutines, descriptors, heap, resident float64 }

// usage runs the garbage collector on the first node and then reads the node's metrics.
func (s *soak) usage() resourceUsage {
	s.t.Helper()
	node := s.nodes[0]
	node.Get("/debug/pprof/heap?gc=1")
	node.Client.CloseIdleConnections()
	return resourceUsage{node.Metric("go_goroutines"), node.Metric("process_open_fds"),
		node.Metric("go_memstats_heap_inuse_bytes"), node.Metric("process_resident_memory_bytes")}
}

// awaitSteadyUsage waits until the numbers of goroutines and descriptors on the idle first node no longer
// decrease and then returns the node's resource usage.
func (s *soak) awaitSteadyUsage() (m resourceUsage) {
	s.t.Helper()
	programtest.Await(s.t, "the idle node to release its resources", func() bool {
		before := s.usage()
		time.Sleep(200 * time.Millisecond)
		m = s.usage()
		return m.goroutines >= before.goroutines && m.descriptors >= before.descriptors
	})
	return m
}

// awaitUsageBack waits until the idle first node uses about as many resources as before. The tolerance cannot
// hide a leak, because a leak grows with each of the thousands of requests.
func (s *soak) awaitUsageBack(before resourceUsage) {
	s.t.Helper()
	var after resourceUsage
	defer func() { s.t.Logf("idle before the load: %+v; after it: %+v", before, after) }()
	programtest.Await(s.t, "goroutines, descriptors and memory to be released", func() bool {
		after = s.usage()
		return after.goroutines <= before.goroutines+10 && after.descriptors <= before.descriptors+10 &&
			after.heap <= before.heap+16<<20 && after.resident <= before.resident+256<<20
	})
}
