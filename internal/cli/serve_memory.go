package cli

import (
	"runtime/debug"
	"sync"
)

// With Go's default settings, a 2 MB heap would be collected fifty times a second under load, and reads would
// take up to a third longer. gcPercent lets the heap grow to three times its live size. heapFloor is the size
// of an allocation that counts as heap but takes no memory, because nothing is ever written to it.
//
// memoryLimit is the amount of memory above which the collector runs more often than gcPercent requires. It is about
// the amount that is in use when all limits of the service are reached; see the memory budget in docs/operating.md.
// It does not include SQLite's memory.
const (
	gcPercent   = 200
	heapFloor   = 8 << 20
	memoryLimit = 258 << 20
)

// photoMemory raises Go's memory limit while images are decoded, and lowers it again. A fixed limit would either let other
// memory grow, or let the collector run all the time while a large image is decoded.
type photoMemory struct {
	mu       sync.Mutex
	reserved int64
}

// add adds bytes to the limit. A negative number lowers it.
func (m *photoMemory) add(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reserved += bytes
	debug.SetMemoryLimit(memoryLimit + m.reserved)
}
