package soak

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/programtest"
)

// resourceUsage contains the resources that an idle process uses. If they grow over time, there is a leak.
type resourceUsage struct{ goroutines, descriptors, heap, resident float64 }

func (m resourceUsage) String() string {
	return fmt.Sprintf("%g goroutines, %g descriptors, %.1f MiB of heap, %.1f MiB resident",
		m.goroutines, m.descriptors, m.heap/(1<<20), m.resident/(1<<20))
}

// usage runs the garbage collector on the first node and then reads the node's metrics.
func (s *soak) usage() (m resourceUsage) {
	s.t.Helper()
	s.nodes[0].Get("/debug/pprof/heap?gc=1")
	s.nodes[0].Client.CloseIdleConnections()
	wanted := map[string]*float64{
		"go_goroutines": &m.goroutines, "process_open_fds": &m.descriptors,
		"go_memstats_heap_inuse_bytes": &m.heap, "process_resident_memory_bytes": &m.resident,
	}
	for line := range strings.Lines(s.nodes[0].Get("/metrics").Body) {
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
		s.t.Fatalf("/metrics lacks %v", wanted)
	}
	return m
}

// awaitSteadyUsage waits until the numbers of goroutines and descriptors on the idle first node no longer
// decrease and then returns the node's resource usage.
func (s *soak) awaitSteadyUsage() resourceUsage {
	s.t.Helper()
	m := s.usage()
	programtest.Await(s.t, "the idle node to release its resources", func() bool {
		time.Sleep(200 * time.Millisecond)
		before := m
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
	defer func() { s.t.Logf("idle before the load: %v; after it: %v", before, after) }()
	programtest.Await(s.t, "goroutines, descriptors and memory to be released", func() bool {
		after = s.usage()
		return after.goroutines <= before.goroutines+10 && after.descriptors <= before.descriptors+10 &&
			after.heap <= before.heap+16<<20 && after.resident <= before.resident+256<<20
	})
}
