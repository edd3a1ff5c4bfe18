package web

import (
	"context"

	"animalstore/internal/shop"
	"animalstore/internal/singleflight"
)

// ResponseCache caches encoded responses to catalogue reads, because most clients read the same few pages.
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
type ResponseCache[R CachedResponse] struct {
	service *shop.Service
	entries CacheEntries[*entry[R]]
	loads   singleflight.Group[string, *entry[R]]
}

// CachedResponse is the part of a response that is the same for all clients.
type CachedResponse interface {
	Bytes() int // how much memory it takes
}

type entry[R CachedResponse] struct {
	response R
	validity shop.Validity
}

// Bytes returns the size of the response.
func (e *entry[R]) Bytes() int { return e.response.Bytes() }

// NewResponseCache returns an empty cache whose entries have at most maxBytes together, and maxKeyBytes for each API key.
func NewResponseCache[R CachedResponse](service *shop.Service, maxBytes, maxKeyBytes int) *ResponseCache[R] {
	return &ResponseCache[R]{service: service, entries: NewCacheEntries[*entry[R]](maxBytes, maxKeyBytes)}
}

// Get returns the cached response to a request, or loads and caches it. key is the id of the API key that sent the
// request. Identical requests that arrive at the same time share one load. load sets valid to the validity of the data
// from which it has built the response.
func (c *ResponseCache[R]) Get(
	ctx context.Context, key int64, request string, load func(valid *shop.Validity) (R, error),
) (response R, err error) {
	arrived, cached := c.loads.Begun(), c.entries.Get(request)
	isValid := func(e *entry[R]) bool { return c.service.IsValid(ctx, e.validity) }
	if cached != nil && isValid(cached) {
		return cached.response, nil
	}
	loading, own, err := c.loads.Join(ctx, request, arrived, isValid)
	switch {
	case err != nil:
		return response, shop.UnavailableError(err)
	case !own && loading.Err != nil:
		return load(nil) // the load may have failed only for the client that started it
	case !own:
		return loading.Value.response, nil
	}
	defer c.loads.End(request, loading)
	e := &entry[R]{}
	e.response, loading.Err = load(&e.validity)
	loading.Value = e
	if loading.Err == nil && e.validity != (shop.Validity{}) {
		c.entries.Put(request, key, e)
	}
	return e.response, loading.Err
}
