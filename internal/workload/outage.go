package workload

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// AcknowledgedBy returns the number of operations that a node has acknowledged. Pinned must be set.
func (l *Load) AcknowledgedBy(node int) (n int64) {
	for id := node; id < len(l.clients); id += len(l.nodes) {
		n += l.clients[id].acknowledged.Load()
	}
	return n
}

// LongestPause returns the longest time between from and to during which a node acknowledged no operation. Pinned must
// be set, and the load must have been stopped.
func (l *Load) LongestPause(node int, from, to time.Duration) time.Duration {
	var acknowledged []time.Duration
	for _, op := range l.operations {
		if op.result == done && op.client%len(l.nodes) == node {
			acknowledged = append(acknowledged, op.responded)
		}
	}
	return longestPause(acknowledged, from, to)
}

// longestPause returns the length of the longest interval between from and to that contains none of the given times.
func longestPause(times []time.Duration, from, to time.Duration) (longest time.Duration) {
	times = slices.DeleteFunc(slices.Sorted(slices.Values(times)), func(at time.Duration) bool { return at < from || at > to })
	last := from
	for _, at := range append(times, to) {
		longest = max(longest, at-last)
		last = at
	}
	return longest
}

// LongestRequests lists, for each method and collection, the longest time from a request to the beginning of its
// response.
func (l *Load) LongestRequests() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := "longest requests:"
	for _, kind := range slices.Sorted(maps.Keys(l.longest)) {
		text += fmt.Sprintf(" %s %.1f s,", kind, l.longest[kind].Seconds())
	}
	return strings.TrimSuffix(text, ",")
}

func (l *Load) recordDuration(r *http.Request, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	collection := strings.TrimRight(strings.TrimPrefix(r.URL.Path, "/v1"), "/0123456789-")
	kind := r.Method + " " + collection
	l.longest[kind] = max(l.longest[kind], d)
}
