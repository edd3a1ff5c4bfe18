package shop

import (
	"sync"
	"time"
)

// keyFreshness is how long a key is trusted without asking the store again: a key that is revoked, here or by another
// process, is refused within a second.
const keyFreshness = 500 * time.Millisecond

// keyring remembers the keys that were in use lately. It never remembers that a key is unknown, so a new one works at
// once. Only known keys get in, so it does not outgrow the store.
type keyring struct {
	mu   sync.RWMutex
	seen map[SecretHash]seenKey
}

type seenKey struct {
	key Key
	at  time.Time
}

func newKeyring() *keyring { return &keyring{seen: map[SecretHash]seenKey{}} }

// find returns the key from memory while it is fresh, and else by looking it up.
func (r *keyring) find(hash SecretHash, lookUp func() (Key, bool, error)) (Key, bool, error) {
	r.mu.RLock()
	known, ok := r.seen[hash]
	r.mu.RUnlock()
	if ok && time.Since(known.at) < keyFreshness {
		return known.key, true, nil
	}
	asked := time.Now() // before the look-up: what it saw is at least as new
	key, found, err := lookUp()
	if err != nil {
		return Key{}, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !found {
		delete(r.seen, hash)
		return Key{}, false, nil
	}
	r.seen[hash] = seenKey{key, asked}
	return key, true, nil
}
