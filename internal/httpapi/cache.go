package httpapi

import (
	"context"

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
//   - The size of the entries is limited, in total and for each API key. Every byte that a client can choose is counted.
//
// If the service cannot tell whether an entry is valid, the database is read.
type responseCache struct {
	service *shop.Service
	entries cacheEntries[*entry]
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
}

func (e *entry) bytes() int { return len(e.tag) + cap(e.body) + len(e.first) + len(e.next) }

// maxCacheBytes is the maximum size of one cache of responses, and maxKeyCacheBytes the share of one API key.
const (
	maxCacheBytes    = 4 << 20
	maxKeyCacheBytes = 3 << 19
)

func newResponseCache(service *shop.Service) *responseCache {
	return &responseCache{service: service, entries: newCacheEntries[*entry](maxCacheBytes, maxKeyCacheBytes)}
}

// get returns the cached response to a request, or loads and caches it. key is the id of the API key that sent the
// request. Identical requests that arrive at the same time share one load. load sets valid to the validity of the data
// from which it has built the response.
func (c *responseCache) get(
	ctx context.Context, key int64, request string, load func(valid *shop.Validity) (cachedResponse, error),
) (cachedResponse, error) {
	arrived, cached := c.loads.Begun(), c.entries.get(request)
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
	e := &entry{}
	e.cachedResponse, loading.Err = load(&e.validity)
	loading.Value = e
	if loading.Err == nil && e.validity != (shop.Validity{}) {
		c.entries.put(request, key, e)
	}
	return e.cachedResponse, loading.Err
}
