package httpapi

import (
	"sync"

	"animalstore/internal/shop"
)

const (
	// defaultStreams is the default maximum number of event streams that a node serves at the same time. A
	// stream costs little more than its connection.
	defaultStreams = 4096
	// defaultKeyStreams is the default maximum number of streams per API key, so that one key cannot use
	// up all streams.
	defaultKeyStreams = 512
)

// streamLimit limits how many event streams are open at the same time, in total and per API key.
type streamLimit struct {
	max, maxPerKey int
	mu             sync.Mutex
	open           int
	openByKey      map[int64]int
}

func newStreamLimit(most, each int) *streamLimit {
	return &streamLimit{max: most, maxPerKey: each, openByKey: map[int64]int{}}
}

// acquire reserves a stream for an API key until the caller calls release. It fails with rate_limited if
// this key has too many open streams and with unavailable if the node has too many.
func (p *streamLimit) acquire(key int64) (release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.openByKey[key] >= p.maxPerKey {
		return nil, shop.Errorf(shop.RateLimited, "This API key has too many open streams; its limit is %d per node.", p.maxPerKey)
	}
	if p.open >= p.max {
		return nil, shop.Errorf(shop.Unavailable, "Too many streams are open; try again later.")
	}
	p.open++
	p.openByKey[key]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open--
		if p.openByKey[key]--; p.openByKey[key] == 0 {
			delete(p.openByKey, key)
		}
	}, nil
}
