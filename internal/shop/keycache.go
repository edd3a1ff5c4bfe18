package shop

import (
	"maps"
	"sync"
	"time"
)

// keyFreshness is how long a cached key is used without asking the store. After any node revokes a key, the
// key may still work on this node for that long. Clients are promised that it stops working within one
// second.
const keyFreshness = 500 * time.Millisecond

// maxCachedKeys is the maximum number of keys in the cache. When it is reached, the cache is emptied, because keys
// that are no longer used would otherwise stay forever.
const maxCachedKeys = 10_000

// keyCache caches the credentials of keys in use. It never caches the fact that a secret is unknown.
// Therefore a new key works immediately, and requests with made-up secrets cannot fill the cache.
type keyCache struct {
	mu      sync.RWMutex
	entries map[SecretHash]cachedKey
}

type cachedKey struct {
	Credential
	readAfter time.Time // a time just before the credential was read from the store
}

func newKeyCache() *keyCache { return &keyCache{entries: map[SecretHash]cachedKey{}} }

// find returns the cached credential if it is still fresh. Otherwise it returns the result of lookUp. A key
// that lookUp does not find is removed from the cache.
func (c *keyCache) find(hash SecretHash, lookUp func() (Credential, bool, error)) (Credential, bool, error) {
	c.mu.RLock()
	cached, ok := c.entries[hash]
	c.mu.RUnlock()
	if ok && time.Since(cached.readAfter) < keyFreshness {
		return cached.Credential, true, nil
	}
	// Freshness is measured from before the look-up. If it were measured from after, a key revoked during
	// a slow look-up would work for longer than keyFreshness after its revocation.
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
	if len(c.entries) >= maxCachedKeys {
		c.entries = map[SecretHash]cachedKey{} // a new map, because a map does not shrink
	}
	c.entries[hash] = cachedKey{credential, start}
	return credential, true, nil
}

// forget removes all secrets of a key, so that a rotation or revocation takes effect at once on the node that made
// it. A secret that is being looked up at the same moment may still be cached, but only for keyFreshness.
func (c *keyCache) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.entries, func(_ SecretHash, cached cachedKey) bool { return cached.Key.ID == id })
}
