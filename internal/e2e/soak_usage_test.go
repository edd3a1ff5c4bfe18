package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// resourceUsage are those of a process at rest that must not grow for ever.
type resourceUsage struct{ goroutines, descriptors, heap, resident float64 }

func (m resourceUsage) String() string {
	return fmt.Sprintf("%g goroutines, %g descriptors, %.1f MiB in the heap and %.1f MiB resident",
		m.goroutines, m.descriptors, m.heap/(1<<20), m.resident/(1<<20))
}

// usage reads the metrics of the first node after a collection of what nobody needs any more.
func (s *soak) usage() (m resourceUsage) {
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

// awaitSteadyUsage measures a process that has nothing to do any more, when it no longer gives anything back.
func (s *soak) awaitSteadyUsage() resourceUsage {
	s.t.Helper()
	for m := s.usage(); ; {
		time.Sleep(200 * time.Millisecond)
		next := s.usage()
		if next.goroutines >= m.goroutines && next.descriptors >= m.descriptors {
			return m
		}
		m = next
	}
}

// awaitUsageBack waits until a process that has nothing to do is as it was before. It may take its time for it, and keep a little: what
// it never gives back grows with every request, and there are thousands.
func (s *soak) awaitUsageBack(before resourceUsage) {
	s.t.Helper()
	var after resourceUsage
	defer func() { s.t.Logf("at rest, before some load: %v; after it: %v", before, after) }()
	await(s.t, "goroutines, descriptors and memory to come back", func() bool {
		after = s.usage()
		return after.goroutines <= before.goroutines+10 && after.descriptors <= before.descriptors+10 &&
			after.heap <= before.heap+16<<20 && after.resident <= before.resident+256<<20
	})
}
