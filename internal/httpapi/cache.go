package httpapi

import (
	"context"
	"errors"
	"sync"

	"animalstore/internal/shop"
)

// responseCache keeps encoded responses to reads of the catalogue, because most clients of a shop read the
// same few pages. It never serves an outdated response, and rests on these invariants:
//
//   - An entry is valid for one shop.CatalogVersion and until the next hold expires. The version is taken
//     before the load begins. A change that commits during the load then invalidates the entry, although
//     the entry may already show it.
//   - Requests share a load in flight only if the catalogue has the version at which that load began. A
//     client that knows of a change therefore never gets a response from before it.
//   - A response holds nothing that differs between clients. In particular, links are built for each
//     request.
//   - The size of all entries is bounded by maxCacheBytes, and every byte that a client can choose is
//     counted.
//
// Where the version is unknown without a query, because other processes may change the catalogue, nothing
// is cached.
type responseCache struct {
	service *shop.Service
	mu      sync.RWMutex
	entries map[string]*entry
	size    int // of all entries, in bytes
	flights map[flightKey]*flight
}

// cachedResponse is the part of a response that is the same for all clients.
type cachedResponse struct {
	tag   string
	body  []byte
	first string // the query of the first page of the list
	next  string // the query of the next page; "" on the last page and for a single resource
}

type entry struct {
	cachedResponse
	validity shop.Validity
}

// flight is a load in progress. Its result may be read when done is closed.
type flight struct {
	entry
	err  error
	done chan struct{}
}

type flightKey struct {
	request string
	changes int64 // of the CatalogVersion at which the load began
}

const (
	// maxCacheBytes bounds one cache. When it is full, it is emptied: the pages in demand are soon back.
	maxCacheBytes = 4 << 20
	// entryOverhead is what an entry costs beyond its texts: its struct, the map's slot, the headers of its
	// strings.
	entryOverhead = 256
)

func newResponseCache(service *shop.Service) *responseCache {
	return &responseCache{service: service, entries: map[string]*entry{}, flights: map[flightKey]*flight{}}
}

// get returns the cached response to a request or loads it. Equal requests at the same time share one load.
func (c *responseCache) get(ctx context.Context, request string, load func() (cachedResponse, error)) (cachedResponse, error) {
	version, ok := c.service.CatalogVersion()
	if !ok {
		return load()
	}
	c.mu.RLock()
	cached := c.entries[request]
	c.mu.RUnlock()
	if cached != nil && cached.validity.Valid(version) {
		return cached.cachedResponse, nil
	}
	key := flightKey{request, version.Changes}
	c.mu.Lock()
	f, joined := c.flights[key]
	if !joined {
		f = &flight{err: errNotLoaded, done: make(chan struct{})}
		c.flights[key] = f
	}
	c.mu.Unlock()
	if !joined {
		return c.fly(ctx, key, version, f, load)
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return cachedResponse{}, shop.UnavailableError(ctx.Err())
	}
	if f.err != nil { // perhaps only because the other client disconnected
		return load()
	}
	return f.cachedResponse, nil
}

// errNotLoaded is the error of a flight whose load panicked.
var errNotLoaded = errors.New("the response was not loaded")

// fly loads a response, caches it, and wakes the requests that joined the flight.
func (c *responseCache) fly(
	ctx context.Context, key flightKey, version shop.CatalogVersion, f *flight, load func() (cachedResponse, error),
) (cachedResponse, error) {
	defer func() { // also if load panics
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.flights, key)
		if f.err == nil {
			c.store(key.request, &f.entry)
		}
		close(f.done)
	}()
	validity, err := c.service.ValidityFrom(ctx, version)
	if err != nil {
		f.err = err
		return cachedResponse{}, err
	}
	f.validity = validity
	f.cachedResponse, f.err = load()
	return f.cachedResponse, f.err
}

// store adds an entry. The caller holds the lock.
func (c *responseCache) store(request string, e *entry) {
	if old := c.entries[request]; old != nil {
		c.size -= old.bytes(request)
	}
	if c.size += e.bytes(request); c.size > maxCacheBytes {
		clear(c.entries)
		c.size = e.bytes(request)
	}
	c.entries[request] = e
}

// bytes returns the memory that an entry and its key occupy.
func (e *entry) bytes(request string) int {
	return entryOverhead + len(request) + len(e.tag) + cap(e.body) + len(e.first) + len(e.next)
}
