package shop

import (
	"context"
	"crypto/subtle"
	"slices"
	"time"
)

// Principal is who makes a request: the holder of a key. The configured key, which is stored nowhere, has the id 0.
type Principal struct{ key Key }

// Actor names the principal in logs and metrics.
func (p Principal) Actor() string {
	switch {
	case p.key.Name == "":
		return "" // nobody
	case p.key.ID == 0:
		return "configured"
	default:
		return p.key.subject()
	}
}

// ID is the key's id; 0 for the configured key.
func (p Principal) ID() int64 { return p.key.ID }

// Name is what the key is called.
func (p Principal) Name() string { return p.key.Name }

// HasScope tells whether the principal has a scope; admin has them all.
func (p Principal) HasScope(scope Scope) bool {
	return slices.Contains(p.key.Scopes, scope) || slices.Contains(p.key.Scopes, Admin)
}

// Credential is a key as one of its secrets opens it.
type Credential struct {
	Key   Key
	Until time.Time // when the secret stops working, whatever the key does; zero: never
}

func (c Credential) validAt(now time.Time) bool {
	return !isPast(c.Until, now) && !isPast(c.Key.ExpiresAt, now)
}

// Authenticate finds who holds a secret. It returns invalid_api_key, or unavailable where the store cannot be asked.
func (s *Service) Authenticate(ctx context.Context, secret string) (Principal, error) {
	hash := HashSecret(secret)
	if !s.isConfigured(hash) && !wellFormed(secret, s.environment) {
		return Principal{}, errInvalidKey()
	}
	return s.principal(ctx, hash)
}

func (s *Service) isConfigured(hash SecretHash) bool {
	return s.configured != nil && subtle.ConstantTimeCompare(hash[:], s.configuredHash[:]) == 1
}

// principal finds who holds the secret with a hash. It returns the same errors as Authenticate.
func (s *Service) principal(ctx context.Context, hash SecretHash) (Principal, error) {
	if s.isConfigured(hash) {
		return Principal{*s.configured}, nil
	}
	credential, found, err := s.keyCache.find(hash, func() (Credential, bool, error) { return s.findCredential(ctx, hash) })
	if err != nil {
		return Principal{}, err
	}
	now := s.now()
	if !found || !credential.validAt(now) {
		return Principal{}, errInvalidKey()
	}
	s.lastUsed.record(credential.Key.ID, now)
	return Principal{credential.Key}, nil
}

func errInvalidKey() error {
	return Errorf(InvalidAPIKey, "The API key is not valid here; send one that this store has issued and that has not expired.")
}

func (s *Service) findCredential(ctx context.Context, hash SecretHash) (c Credential, found bool, err error) {
	err = s.store.Read(ctx, func(tx ReadTx) (err error) {
		c, found, err = tx.Credential(hash)
		return err
	})
	return c, found, err
}

// CurrentKey returns the principal's own key, as it is now.
func (s *Service) CurrentKey(ctx context.Context, p Principal) (Key, error) {
	if p.key.ID == 0 {
		return p.key, nil
	}
	key, err := read(ctx, s, func(tx ReadTx) (Key, error) { return existingKey(tx, p.key.ID) })
	s.lastUsed.apply(&key)
	return key, err
}
