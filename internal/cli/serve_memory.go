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

// photoMemory makes room for images while they wait or are decoded. It raises Go's memory limit by their size: a fixed limit
// would either let other memory grow, or let the collector run all the time while a large image is decoded. But the images do
// not count for gcPercent, because the heap would grow by twice their size.
type photoMemory struct {
	keepPercent, keepLimit bool // what the operator has set is kept
	mu                     sync.Mutex
	reserved               int64
}

const (
	// photoGarbage is about how much garbage there may be while large images are decoded.
	photoGarbage = 48 << 20
	// collectedImage is the size from which on the memory of an image is given back as soon as the image is decoded. Otherwise
	// the next image would come on top of it.
	collectedImage = 32 << 20
)

// add adds the size of an image. A negative number subtracts it again.
func (m *photoMemory) add(bytes int64) {
	if bytes <= -collectedImage {
		debug.FreeOSMemory()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reserved += bytes
	if !m.keepPercent {
		debug.SetGCPercent(int(min(gcPercent, 100*photoGarbage/max(m.reserved, 1))))
	}
	if !m.keepLimit {
		debug.SetMemoryLimit(memoryLimit + m.reserved)
	}
}
