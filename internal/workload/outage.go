package workload

import (
	"slices"
	"time"
)

// AcknowledgedBy returns the number of operations that a node has acknowledged. The clients must be pinned.
func (l *Load) AcknowledgedBy(node int) (n int64) {
	for id := node; id < len(l.clients); id += len(l.nodes) {
		n += l.clients[id].acknowledged.Load()
	}
	return n
}

// LongestPause returns the longest time between from and to during which a node acknowledged no operation. The
// clients must be pinned, and the load must have been stopped.
func (l *Load) LongestPause(node int, from, to time.Duration) time.Duration {
	var acknowledged []time.Duration
	for _, op := range l.operations {
		if op.result == done && op.client%len(l.nodes) == node {
			acknowledged = append(acknowledged, op.responded)
		}
	}
	return longestPause(acknowledged, from, to)
}

// longestPause returns the longest time between from and to in which none of the given times lies.
func longestPause(times []time.Duration, from, to time.Duration) (longest time.Duration) {
	times = slices.DeleteFunc(slices.Sorted(slices.Values(times)), func(at time.Duration) bool { return at < from || at > to })
	last := from
	for _, at := range append(times, to) {
		longest = max(longest, at-last)
		last = at
	}
	return longest
}

// LongestRequest returns the longest time that a request took until its response began.
func (l *Load) LongestRequest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest
}

func (l *Load) recordDuration(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, d)
}
