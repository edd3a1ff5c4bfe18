package shop

import (
	"context"
	"crypto/subtle"
	"slices"
	"time"
)

// Principal is the API key that a request was authenticated with. The key from the configuration, which is
// not stored, has the id 0.
type Principal struct{ key Key }

// Actor returns the name that identifies the principal in events, logs and metrics. It returns "" for the
// zero Principal.
func (p Principal) Actor() string {
	switch {
	case p.key.Name == "":
		return ""
	case p.key.ID == 0:
		return configured
	default:
		return p.key.subject()
	}
}

// ID returns the key's id, or 0 for the configured key.
func (p Principal) ID() int64 { return p.key.ID }

// Name returns the key's name, or "configured" for the configured key.
func (p Principal) Name() string { return p.key.Name }

// HasScope reports whether the principal has the given scope. The scope admin includes all other scopes.
func (p Principal) HasScope(scope Scope) bool {
	return slices.Contains(p.key.Scopes, scope) || slices.Contains(p.key.Scopes, Admin)
}

// Credential is the key that was found for a secret, together with the time when that secret expires.
type Credential struct {
	Key   Key
	Until time.Time // when the secret expires, or zero if it never does; the key itself may expire earlier
}

func (c Credential) validAt(now time.Time) bool {
	return !isPast(c.Until, now) && !isPast(c.Key.ExpiresAt, now)
}

// Authenticate returns the principal that a secret belongs to. It fails with invalid_api_key if the secret is
// unknown or has expired, and with unavailable if the store cannot be reached.
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

// principal returns the principal that a hashed secret belongs to. It fails with the same errors as
// Authenticate.
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
	s.keyUses.record(credential.Key.ID, now)
	return Principal{credential.Key}, nil
}

func errInvalidKey() error {
	return Errorf(InvalidAPIKey, "The API key is unknown or has expired; send a valid key of this store.")
}

func (s *Service) findCredential(ctx context.Context, hash SecretHash) (c Credential, found bool, err error) {
	err = s.store.Read(ctx, Reading{SingleQuery: true}, func(tx ReadTx) (err error) {
		c, found, err = tx.Credential(hash)
		return err
	})
	return c, found, err
}
