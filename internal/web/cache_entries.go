package web

import "sync"

// entryOverhead is an estimate of the memory that an entry of a cache needs in addition to its bytes: the structs, the slot in
// the map, and the string headers.
const entryOverhead = 256

// CacheEntries are the entries of a cache, by name. Together they have at most maxBytes, and those that were loaded with
// one API key at most maxKeyBytes. So a client that loads many entries displaces only its own. The zero value of E stands for
// no entry.
type CacheEntries[E interface{ Bytes() int }] struct {
	maxBytes, maxKeyBytes int
	mu                    sync.RWMutex
	byName                map[string]cacheEntry[E]
	size                  int           // total size of all entries, in bytes
	keySize               map[int64]int // total size of the entries that were loaded with each API key, in bytes
}

type cacheEntry[E any] struct {
	entry E
	key   int64 // the id of the API key whose request loaded the entry
	size  int
}

// NewCacheEntries returns an empty cache with these limits.
func NewCacheEntries[E interface{ Bytes() int }](maxBytes, maxKeyBytes int) CacheEntries[E] {
	return CacheEntries[E]{maxBytes: maxBytes, maxKeyBytes: maxKeyBytes, byName: map[string]cacheEntry[E]{}, keySize: map[int64]int{}}
}

// Get returns the entry with the given name, or the zero value of E.
func (c *CacheEntries[E]) Get(name string) E {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byName[name].entry
}

// Put replaces the entry with the given name, and removes others if there is no room for it. It does not matter which
// ones, because popular entries are quickly loaded again: all of the same key, or otherwise any.
func (c *CacheEntries[E]) Put(name string, key int64, e E) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(name)
	size := entryOverhead + len(name) + e.Bytes()
	if size > min(c.maxBytes, c.maxKeyBytes) {
		return
	}
	if c.keySize[key]+size > c.maxKeyBytes {
		for other, cached := range c.byName {
			if cached.key == key {
				c.removeLocked(other)
			}
		}
	}
	for other := range c.byName {
		if c.size+size <= c.maxBytes {
			break
		}
		c.removeLocked(other)
	}
	c.byName[name] = cacheEntry[E]{e, key, size}
	c.size += size
	c.keySize[key] += size
}

// Remove removes an entry, if there is one.
func (c *CacheEntries[E]) Remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(name)
}

// removeLocked is like Remove. The caller must hold the lock.
func (c *CacheEntries[E]) removeLocked(name string) {
	e, found := c.byName[name]
	if !found {
		return
	}
	delete(c.byName, name)
	c.size -= e.size
	if c.keySize[e.key] -= e.size; c.keySize[e.key] == 0 {
		delete(c.keySize, e.key)
	}
}
