package httpapi

import (
	"sync"

	"animalstore/internal/shop"
)

const (
	// defaultStreams is how many streams a node serves at once: each costs a connection and little more.
	defaultStreams = 4096
	// defaultKeyStreams is how many of them one key may have: no holder of a key keeps all others out.
	defaultKeyStreams = 512
)

// streamLimit are those of the clients that follow the events.
type streamLimit struct {
	max, maxPerKey int
	mu             sync.Mutex
	open           int
	openByKey      map[int64]int
}

func newStreamLimit(most, each int) *streamLimit {
	return &streamLimit{max: most, maxPerKey: each, openByKey: map[int64]int{}}
}

// acquire takes a place for the holder of a key, until leave is called. It returns rate_limited where the key has all that it may
// have, and unavailable where there is none.
func (p *streamLimit) acquire(key int64) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.openByKey[key] >= p.maxPerKey {
		return nil, shop.Errorf(shop.RateLimited, "This API key follows too many streams at once; it may have %d on each node.", p.maxPerKey)
	}
	if p.open >= p.max {
		return nil, shop.Errorf(shop.Unavailable, "There are too many streams at once; try again later.")
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
