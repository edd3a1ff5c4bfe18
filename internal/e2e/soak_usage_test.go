package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// measures are those of a process at rest that must not grow for ever.
type measures struct{ goroutines, descriptors, heap, resident float64 }

func (m measures) String() string {
	return fmt.Sprintf("%g goroutines, %g descriptors, %.1f MiB in the heap and %.1f MiB resident",
		m.goroutines, m.descriptors, m.heap/(1<<20), m.resident/(1<<20))
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

// settled measures a process that has nothing to do any more, when it no longer gives anything back.
func (s *soak) settled() measures {
	s.t.Helper()
	for m := s.measure(); ; {
		time.Sleep(200 * time.Millisecond)
		next := s.measure()
		if next.goroutines >= m.goroutines && next.descriptors >= m.descriptors {
			return m
		}
		m = next
	}
}

// returns waits until a process that has nothing to do is as it was before. It may take its time for it, and keep a little: what
// it never gives back grows with every request, and there are thousands.
func (s *soak) returns(before measures) {
	s.t.Helper()
	var after measures
	defer func() { s.t.Logf("at rest, before some load: %v; after it: %v", before, after) }()
	await(s.t, "goroutines, descriptors and memory to come back", func() bool {
		after = s.measure()
		return after.goroutines <= before.goroutines+10 && after.descriptors <= before.descriptors+10 &&
			after.heap <= before.heap+16<<20 && after.resident <= before.resident+256<<20
	})
}
