package shop

import (
	"context"
	"crypto/subtle"
	"slices"
	"time"
)

// Principal is the key that a request was authenticated with. The configured key, which is not stored, has
// the id 0.
type Principal struct{ key Key }

// Actor names the principal in events, logs and metrics; "" for the zero Principal.
func (p Principal) Actor() string {
	switch {
	case p.key.Name == "":
		return ""
	case p.key.ID == 0:
		return "configured"
	default:
		return p.key.subject()
	}
}

// ID returns the key's id; 0 for the configured key.
func (p Principal) ID() int64 { return p.key.ID }

// Name returns the key's name.
func (p Principal) Name() string { return p.key.Name }

// HasScope reports whether the principal has a scope. The scope admin includes every other.
func (p Principal) HasScope(scope Scope) bool {
	return slices.Contains(p.key.Scopes, scope) || slices.Contains(p.key.Scopes, Admin)
}

// Credential is a key together with the expiry of the secret that it was looked up by.
type Credential struct {
	Key   Key
	Until time.Time // when the secret expires; zero means never. The key has an expiry of its own.
}

func (c Credential) validAt(now time.Time) bool {
	return !isPast(c.Until, now) && !isPast(c.Key.ExpiresAt, now)
}

// Authenticate returns the principal that a secret belongs to. It returns invalid_api_key for an unknown or
// expired secret, or unavailable if the store cannot be reached.
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

// principal returns the principal of a hashed secret. It returns the same errors as Authenticate.
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
	return Errorf(InvalidAPIKey, "The API key is unknown or has expired; send a valid key of this store.")
}

func (s *Service) findCredential(ctx context.Context, hash SecretHash) (c Credential, found bool, err error) {
	err = s.store.Read(ctx, func(tx ReadTx) (err error) {
		c, found, err = tx.Credential(hash)
		return err
	})
	return c, found, err
}

// CurrentKey returns the current state of the principal's own key.
func (s *Service) CurrentKey(ctx context.Context, p Principal) (Key, error) {
	if p.key.ID == 0 {
		return p.key, nil
	}
	key, err := read(ctx, s, func(tx ReadTx) (Key, error) { return existingKey(tx, p.key.ID) })
	s.lastUsed.apply(&key)
	return key, err
}
