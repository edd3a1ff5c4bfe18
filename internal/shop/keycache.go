package shop

import (
	"sync"
	"time"
)

// keyFreshness is how long a key is trusted without asking the store again: a key that is revoked, here or by another
// process, is refused within a second.
const keyFreshness = 500 * time.Millisecond

// keyCache remembers the keys that were in use. It never remembers that a key is unknown, so a new one works at once. Only
// what the store knew gets in, so strangers cannot fill it.
type keyCache struct {
	mu      sync.RWMutex
	entries map[SecretHash]cachedKey
}

type cachedKey struct {
	Credential
	readAfter time.Time
}

func newKeyCache() *keyCache { return &keyCache{entries: map[SecretHash]cachedKey{}} }

// find returns the credential from memory while it is fresh, and else by looking it up.
func (r *keyCache) find(hash SecretHash, lookUp func() (Credential, bool, error)) (Credential, bool, error) {
	r.mu.RLock()
	known, ok := r.entries[hash]
	r.mu.RUnlock()
	if ok && time.Since(known.readAfter) < keyFreshness {
		return known.Credential, true, nil
	}
	asked := time.Now() // before the look-up: what it saw is at least as new
	credential, found, err := lookUp()
	if err != nil {
		return Credential{}, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !found {
		delete(r.entries, hash)
		return Credential{}, false, nil
	}
	r.entries[hash] = cachedKey{credential, asked}
	return credential, true, nil
}
