package hatest

import (
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// outage describes a fault and its effect on the service.
type outage struct {
	fault        string
	leaders      [2]string // the leader before and after the fault
	timelines    [2]int
	since, until time.Duration
	pauses       []time.Duration // for each node, the longest time without an acknowledged write
}

// table formats outages as a table for people to read.
func table(outages []outage) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\tleader\ttimeline\tseconds without writes, for each node")
	for _, o := range outages {
		fmt.Fprintf(w, "%s\t%s\t%s\t", o.fault, change(o.leaders[0], o.leaders[1]), change(o.timelines[0], o.timelines[1]))
		for _, pause := range o.pauses {
			fmt.Fprintf(w, "%5.1f ", pause.Seconds())
		}
		fmt.Fprintln(w)
	}
	w.Flush() // writing to memory cannot fail
	return b.String()
}

// change formats the values before and after a fault.
func change[T comparable](before, after T) string {
	if before == after {
		return fmt.Sprint(before)
	}
	return fmt.Sprint(before, " → ", after)
}

func TestTableShowsOutages(t *testing.T) {
	t.Parallel()
	got := table([]outage{
		{fault: "leader killed", leaders: [2]string{"member1", "member3"}, timelines: [2]int{1, 2}, pauses: []time.Duration{21500 * time.Millisecond, 9 * time.Second}},
		{fault: "etcd frozen", leaders: [2]string{"member3", "member3"}, timelines: [2]int{2, 2}, pauses: []time.Duration{123 * time.Millisecond, 0}},
	})
	want := `fault          leader             timeline  seconds without writes, for each node
leader killed  member1 → member3  1 → 2      21.5   9.0 
etcd frozen    member3            2           0.1   0.0 
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
