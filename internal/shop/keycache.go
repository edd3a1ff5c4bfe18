package shop

import (
	"sync"
	"time"
)

// keyFreshness is how long a key is trusted without asking the store again: a key that is revoked, here or by another
// process, is refused within a second.
const keyFreshness = 500 * time.Millisecond

// keyring remembers the keys that were in use. It never remembers that a key is unknown, so a new one works at once. Only
// what the store knew gets in, so strangers cannot fill it.
type keyring struct {
	mu   sync.RWMutex
	seen map[SecretHash]seenKey
}

type seenKey struct {
	Credential
	at time.Time
}

func newKeyring() *keyring { return &keyring{seen: map[SecretHash]seenKey{}} }

// find returns the credential from memory while it is fresh, and else by looking it up.
func (r *keyring) find(hash SecretHash, lookUp func() (Credential, bool, error)) (Credential, bool, error) {
	r.mu.RLock()
	known, ok := r.seen[hash]
	r.mu.RUnlock()
	if ok && time.Since(known.at) < keyFreshness {
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
		delete(r.seen, hash)
		return Credential{}, false, nil
	}
	r.seen[hash] = seenKey{credential, asked}
	return credential, true, nil
}
