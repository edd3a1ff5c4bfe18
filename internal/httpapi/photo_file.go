package httpapi

import (
	"context"
	"math"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/singleflight"
	"animalstore/internal/web"
)

// These values are shared by all responses with a photo, so they must not be modified.
var (
	contentTypeJPEG = []string{"image/jpeg"}
	cacheForever    = []string{"public, max-age=31536000, immutable"}
	sandboxed       = []string{"sandbox"} // a browser that opens the file as a page runs nothing in it
)

// getPhotoFile sends one of the files of a photo, to anybody who knows its name.
func (a *API) getPhotoFile(x *exchange) error {
	file := x.params[0]
	content, err := a.photoCache.get(x.r.Context(), file, func() (admission.Slot, error) { return x.acquire(admission.PhotoReads) })
	if err != nil {
		return err
	}
	slot, err := x.limits.HoldSent(admission.SentPhotos, len(content))
	if err != nil {
		return err
	}
	defer slot.Release()
	x.w.Header()["Content-Security-Policy"] = sandboxed
	x.shared = true
	x.sendWithETag(cacheForever, contentTypeJPEG, `"`+file+`"`, content) // a file never changes
	return nil
}

const (
	// maxPhotoCacheBytes is the maximum size of the cache of files.
	maxPhotoCacheBytes = 6 << 20
	// photoCheckInterval is how long a file is sent without asking the store whether another node has removed it.
	photoCheckInterval = 500 * time.Millisecond
)

// photoCache keeps files of photos. A file that this node has removed is not sent any more, and a file that another node has
// removed only for photoCheckInterval.
type photoCache struct {
	service *shop.Service
	entries web.CacheEntries[*photoEntry]
	loads   singleflight.Group[string, *photoEntry]
}

type photoEntry struct {
	content  []byte
	checked  time.Time // when the store has said that the file exists
	removals int64     // shop.Service.PhotoRemovals before that
}

// Bytes returns the size of the file.
func (e *photoEntry) Bytes() int { return len(e.content) }

func newPhotoCache(service *shop.Service) *photoCache {
	return &photoCache{service: service, entries: web.NewCacheEntries[*photoEntry](maxPhotoCacheBytes, math.MaxInt)} // a file is read without a key
}

// get returns a file. enter waits until the store may be read. get fails with not_found if there is no such file.
func (c *photoCache) get(ctx context.Context, file string, enter func() (admission.Slot, error)) ([]byte, error) {
	arrived, cached := c.loads.Begun(), c.entries.Get(file)
	isCurrent := func(e *photoEntry) bool {
		return e.removals == c.service.PhotoRemovals() && time.Since(e.checked) < photoCheckInterval
	}
	if cached != nil && isCurrent(cached) {
		return cached.content, nil
	}
	loading, own, err := c.loads.Join(ctx, file, arrived, isCurrent)
	if err != nil {
		return nil, shop.UnavailableError(err)
	}
	if own {
		defer c.loads.End(file, loading)
		loading.Value, loading.Err = c.load(ctx, file, cached, enter)
	}
	e, err := loading.Value, loading.Err
	if !own && err != nil && shop.AsError(err).Code != shop.NotFound {
		e, err = c.load(ctx, file, cached, enter) // the load may have failed only for the client that started it
	}
	if err != nil {
		return nil, err
	}
	return e.content, nil
}

// load reads and caches a file, or checks that the cached one still exists.
func (c *photoCache) load(ctx context.Context, file string, cached *photoEntry, enter func() (admission.Slot, error)) (*photoEntry, error) {
	name, size, ok := shop.ParsePhotoFile(file)
	if !ok {
		return nil, errNoSuchPath()
	}
	slot, err := enter()
	if err != nil {
		return nil, err
	}
	defer slot.Release()
	e := &photoEntry{checked: time.Now(), removals: c.service.PhotoRemovals()}
	if cached != nil {
		e.content, err = cached.content, c.service.CheckPhotoFile(ctx, name, size)
	} else {
		e.content, err = c.service.PhotoFile(ctx, name, size)
	}
	if err != nil {
		c.entries.Remove(file)
		return nil, err
	}
	c.entries.Put(file, 0, e)
	return e, nil
}
