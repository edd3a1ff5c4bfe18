package shop

import (
	"sync"
	"time"
)

// keyFreshness is how long a cached key is used without asking the store. It bounds how long a key works on
// this node after it was revoked by any node; the promise to clients is one second.
const keyFreshness = 500 * time.Millisecond

// keyCache caches the credentials of keys in use. It never caches that a secret is unknown, so a new key
// works at once, and requests with made-up secrets cannot fill it.
type keyCache struct {
	mu      sync.RWMutex
	entries map[SecretHash]cachedKey
}

type cachedKey struct {
	Credential
	readAfter time.Time // the store was read after this time
}

func newKeyCache() *keyCache { return &keyCache{entries: map[SecretHash]cachedKey{}} }

// find returns the cached credential while it is fresh, and otherwise the result of lookUp. A key that lookUp
// does not find is removed from the cache.
func (c *keyCache) find(hash SecretHash, lookUp func() (Credential, bool, error)) (Credential, bool, error) {
	c.mu.RLock()
	cached, ok := c.entries[hash]
	c.mu.RUnlock()
	if ok && time.Since(cached.readAfter) < keyFreshness {
		return cached.Credential, true, nil
	}
	// Freshness counts from before the look-up. If it counted from after, a key that is revoked during a slow
	// look-up would work for longer than keyFreshness after its revocation.
	start := time.Now()
	credential, found, err := lookUp()
	if err != nil {
		return Credential{}, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !found {
		delete(c.entries, hash)
		return Credential{}, false, nil
	}
	c.entries[hash] = cachedKey{credential, start}
	return credential, true, nil
}
