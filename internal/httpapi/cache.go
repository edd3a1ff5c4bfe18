package httpapi

import (
	"context"
	"sync"

	"animalstore/internal/shop"
	"animalstore/internal/singleflight"
)

// responseCache caches encoded responses to catalogue reads, because most clients read the same few pages.
// It never serves an outdated response. It relies on these invariants:
//
//   - An entry has the shop.Validity of the data from which it was built. Before a request uses an entry, the
//     service confirms that the entry was still valid after the request arrived.
//   - If a request waits for a load that began before the request arrived, it uses the response only if the service
//     then confirms that the response is valid. The response of a load that began later is always recent enough.
//     A client that knows about a change therefore never gets a response from before the change.
//   - A response contains nothing that differs between clients. In particular, links are built for each
//     request.
//   - The total size of all entries is at most maxCacheBytes. The entries that were loaded with one API key take at
//     most maxKeyCacheBytes. Every byte that a client can choose is counted. A client that sends many different
//     queries therefore displaces only its own entries.
//
// If the service cannot tell whether an entry is valid, the database is read.
type responseCache struct {
	service *shop.Service
	mu      sync.RWMutex
	entries map[string]*entry
	size    int           // total size of all entries, in bytes
	keySize map[int64]int // total size of the entries that were loaded with each API key, in bytes
	loads   singleflight.Group[string, *entry]
}

// cachedResponse is the part of a response that is the same for all clients.
type cachedResponse struct {
	tag   string
	body  []byte
	first string // query string for the first page of the list
	next  string // query string for the next page; "" on the last page and for a single resource
}

type entry struct {
	cachedResponse
	validity shop.Validity
	key      int64 // the id of the API key whose request loaded the entry
}

const (
	// maxCacheBytes is the maximum size of one cache. A full cache is emptied completely, because popular pages are
	// quickly loaded again. maxKeyCacheBytes is the maximum total size of the entries that one API key has loaded.
	maxCacheBytes    = 4 << 20
	maxKeyCacheBytes = 3 << 19
	// entryOverhead is an estimate of the memory that an entry needs in addition to its strings and body:
	// the struct, the slot in the map, and the string headers.
	entryOverhead = 256
)

func newResponseCache(service *shop.Service) *responseCache {
	return &responseCache{service: service, entries: map[string]*entry{}, keySize: map[int64]int{}}
}

// get returns the cached response to a request, or loads and caches it. key is the id of the API key that sent the
// request. Identical requests that arrive at the same time share one load. load sets valid to the validity of the data
// from which it has built the response.
func (c *responseCache) get(
	ctx context.Context, key int64, request string, load func(valid *shop.Validity) (cachedResponse, error),
) (cachedResponse, error) {
	c.mu.RLock()
	cached, arrived := c.entries[request], c.loads.Begun()
	c.mu.RUnlock()
	isValid := func(e *entry) bool { return c.service.IsValid(ctx, e.validity) }
	if cached != nil && isValid(cached) {
		return cached.cachedResponse, nil
	}
	loading, own, err := c.loads.Join(ctx, request, arrived, isValid)
	switch {
	case err != nil:
		return cachedResponse{}, shop.UnavailableError(err)
	case !own && loading.Err != nil:
		return load(nil) // the load may have failed only for the client that started it
	case !own:
		return loading.Value.cachedResponse, nil
	}
	defer c.loads.End(request, loading)
	e := &entry{key: key}
	e.cachedResponse, loading.Err = load(&e.validity)
	loading.Value = e
	if loading.Err == nil && e.validity != (shop.Validity{}) {
		c.store(request, e)
	}
	return e.cachedResponse, loading.Err
}

// store adds an entry to the cache and makes room for it if necessary.
func (c *responseCache) store(request string, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(request)
	size := e.bytes(request)
	if c.keySize[e.key]+size > maxKeyCacheBytes {
		for other, cached := range c.entries {
			if cached.key == e.key {
				c.remove(other)
			}
		}
	}
	if c.size+size > maxCacheBytes {
		c.entries, c.keySize, c.size = map[string]*entry{}, map[int64]int{}, 0 // new maps, because a map does not shrink
	}
	c.entries[request] = e
	c.size += size
	c.keySize[e.key] += size
}

// remove removes an entry, if there is one. The caller must hold the lock.
func (c *responseCache) remove(request string) {
	e := c.entries[request]
	if e == nil {
		return
	}
	size := e.bytes(request)
	c.size -= size
	if c.keySize[e.key] -= size; c.keySize[e.key] == 0 {
		delete(c.keySize, e.key)
	}
	delete(c.entries, request)
}

// bytes returns the approximate memory that an entry takes up, including the request under which it is stored.
func (e *entry) bytes(request string) int {
	return entryOverhead + len(request) + len(e.tag) + cap(e.body) + len(e.first) + len(e.next)
}
