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

// streamPlaces are those of the clients that follow the events.
type streamPlaces struct {
	most, each int
	mu         sync.Mutex
	taken      int
	byKey      map[int64]int
}

func newStreamPlaces(most, each int) *streamPlaces {
	return &streamPlaces{most: most, each: each, byKey: map[int64]int{}}
}

// take takes a place for the holder of a key, until leave is called. It returns rate_limited where the key has all that it may
// have, and unavailable where there is none.
func (p *streamPlaces) take(key int64) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey[key] >= p.each {
		return nil, shop.Errorf(shop.RateLimited, "This API key follows too many streams at once; it may have %d on each node.", p.each)
	}
	if p.taken >= p.most {
		return nil, shop.Errorf(shop.Unavailable, "There are too many streams at once; try again later.")
	}
	p.taken++
	p.byKey[key]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken--
		if p.byKey[key]--; p.byKey[key] == 0 {
			delete(p.byKey, key)
		}
	}, nil
}
