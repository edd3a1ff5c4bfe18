package httpapi

import (
	"container/list"
	"context"
	"sync"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/singleflight"
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
	slot, err := x.limits.HoldSentPhoto(len(content))
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
	maxPhotoCacheBytes = 8 << 20
	// photoCheckInterval is how long a file is sent without asking the store whether another node has removed it.
	photoCheckInterval = 500 * time.Millisecond
)

// photoCache keeps the files of photos that were requested last. A file that this node has removed is not sent any more,
// and a file that another node has removed only for photoCheckInterval.
type photoCache struct {
	service *shop.Service
	mu      sync.Mutex
	entries map[string]*list.Element // of *photoEntry
	recent  *list.List               // the entries, the one that was used last first
	size    int                      // of all entries, in bytes
	loads   singleflight.Group[string, *photoEntry]
}

type photoEntry struct {
	file     string
	content  []byte
	checked  time.Time // when the store has said that the file exists
	removals int64     // shop.Service.PhotoRemovals before that
}

func newPhotoCache(service *shop.Service) *photoCache {
	return &photoCache{service: service, entries: map[string]*list.Element{}, recent: list.New()}
}

// get returns a file. enter waits until the store may be read. get fails with not_found if there is no such file.
func (c *photoCache) get(ctx context.Context, file string, enter func() (admission.Slot, error)) ([]byte, error) {
	name, size, ok := shop.ParsePhotoFile(file)
	if !ok {
		return nil, errNoSuchPath()
	}
	arrived := c.loads.Begun()
	cached := c.lookUp(file)
	isCurrent := func(e *photoEntry) bool {
		return e.removals == c.service.PhotoRemovals() && time.Since(e.checked) < photoCheckInterval
	}
	if cached != nil && isCurrent(cached) {
		return cached.content, nil
	}
	loading, own, err := c.loads.Join(ctx, file, arrived, isCurrent)
	switch {
	case err != nil:
		return nil, shop.UnavailableError(err)
	case !own && loading.Err == nil:
		return loading.Value.content, nil
	case !own && shop.AsError(loading.Err).Code == shop.NotFound:
		return nil, loading.Err
	case !own:
		return c.service.PhotoFile(ctx, name, size) // the load may have failed only for the client that started it
	}
	defer c.loads.End(file, loading)
	loading.Value, loading.Err = c.load(ctx, file, cached, enter)
	c.store(file, loading.Value)
	if loading.Err != nil {
		return nil, loading.Err
	}
	return loading.Value.content, nil
}

// load reads a file, or checks that it still exists. It returns nil if it fails.
func (c *photoCache) load(ctx context.Context, file string, cached *photoEntry, enter func() (admission.Slot, error)) (*photoEntry, error) {
	slot, err := enter()
	if err != nil {
		return nil, err
	}
	defer slot.Release()
	name, size, _ := shop.ParsePhotoFile(file)
	e := &photoEntry{file: file, checked: time.Now(), removals: c.service.PhotoRemovals()}
	if cached != nil {
		e.content, err = cached.content, c.service.CheckPhotoFile(ctx, name, size)
	} else {
		e.content, err = c.service.PhotoFile(ctx, name, size)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (c *photoCache) lookUp(file string) *photoEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.entries[file]
	if element == nil {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*photoEntry)
}

// store replaces the entry for a file. If e is nil, it only removes the old one.
func (c *photoCache) store(file string, e *photoEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.entries[file])
	if e == nil || len(e.content) > maxPhotoCacheBytes/4 {
		return
	}
	c.entries[file] = c.recent.PushFront(e)
	c.size += len(e.content) + entryOverhead
	for c.size > maxPhotoCacheBytes {
		c.remove(c.recent.Back())
	}
}

// remove removes an entry, unless it is nil. The caller must hold the lock.
func (c *photoCache) remove(element *list.Element) {
	if element == nil {
		return
	}
	e := c.recent.Remove(element).(*photoEntry)
	delete(c.entries, e.file)
	c.size -= len(e.content) + entryOverhead
}
