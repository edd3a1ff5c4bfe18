package httpapi

import "sync"

// entryOverhead is an estimate of the memory that an entry of a cache needs in addition to its bytes: the structs, the slot in
// the map, and the string headers.
const entryOverhead = 256

// cacheEntries are the entries of a cache, by name. Together they have at most maxBytes, and those that were loaded with
// one API key at most maxKeyBytes. So a client that loads many entries displaces only its own. The zero value of E stands for
// no entry.
type cacheEntries[E interface{ bytes() int }] struct {
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

func newCacheEntries[E interface{ bytes() int }](maxBytes, maxKeyBytes int) cacheEntries[E] {
	return cacheEntries[E]{maxBytes: maxBytes, maxKeyBytes: maxKeyBytes, byName: map[string]cacheEntry[E]{}, keySize: map[int64]int{}}
}

func (c *cacheEntries[E]) get(name string) E {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byName[name].entry
}

// put replaces the entry with the given name, and removes others if there is no room for it. It does not matter which
// ones, because popular entries are quickly loaded again: all of the same key, or otherwise any.
func (c *cacheEntries[E]) put(name string, key int64, e E) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(name)
	size := entryOverhead + len(name) + e.bytes()
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

// remove removes an entry, if there is one.
func (c *cacheEntries[E]) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(name)
}

// removeLocked is like remove. The caller must hold the lock.
func (c *cacheEntries[E]) removeLocked(name string) {
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
