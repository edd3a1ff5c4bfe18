package shop

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Scope is one thing that a key may do.
type Scope string

const (
	PetsRead    Scope = "pets:read"
	PetsWrite   Scope = "pets:write"
	OrdersRead  Scope = "orders:read"
	OrdersWrite Scope = "orders:write"
	EventsRead  Scope = "events:read"
	Admin       Scope = "admin"
)

// Scopes are all the scopes that a key can have.
func Scopes() []Scope {
	return []Scope{PetsRead, PetsWrite, OrdersRead, OrdersWrite, EventsRead, Admin}
}

// NewKey is what somebody asks for when making a key.
type NewKey struct {
	Name    string
	Scopes  []Scope
	Expires time.Time // zero: never
}

func (n NewKey) problems(now time.Time) Problems {
	var p Problems
	if reason := TextProblem(n.Name); reason != "" {
		p.Add("name", reason)
	}
	if len(n.Scopes) == 0 {
		p.Add("scopes", "must name at least one scope")
	}
	for _, scope := range n.Scopes {
		if !slices.Contains(Scopes(), scope) {
			p.Add("scopes", fmt.Sprintf("has the unknown scope %q; the scopes are %s", scope, joinScopes(Scopes())))
		}
	}
	if !n.Expires.IsZero() && !n.Expires.After(now) {
		p.Add("expiresAt", "must be in the future")
	}
	return p
}

func joinScopes(scopes []Scope) string {
	texts := make([]string, len(scopes))
	for i, s := range scopes {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

// Key is a key as the shop remembers it: all but its secret.
type Key struct {
	ID        int64
	Name      string
	Scopes    []Scope
	Hint      string // the last four characters of the secret
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
}

func (k Key) expired(now time.Time) bool {
	return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt)
}

// SecretHash is what is stored of a secret. A fast hash is enough: the secret has 178 bits from a cryptographic source,
// so there is nothing to guess.
type SecretHash [sha256.Size]byte

// HashSecret is the only way from a secret to what may be stored.
func HashSecret(secret string) SecretHash { return sha256.Sum256([]byte(secret)) }

// Principal is who makes a request.
type Principal struct {
	Actor  string // keys/ID, or configured
	Name   string
	scopes []Scope
}

// May tells whether the principal has a scope; admin has them all.
func (p Principal) May(scope Scope) bool {
	return slices.Contains(p.scopes, scope) || slices.Contains(p.scopes, Admin)
}

// Authenticate finds who holds a secret. It returns invalid_api_key, or unavailable where the store cannot be asked.
func (s *Service) Authenticate(ctx context.Context, secret string) (Principal, error) {
	hash := HashSecret(secret)
	if s.configured != nil && subtle.ConstantTimeCompare(hash[:], s.configured[:]) == 1 {
		return Principal{Actor: "configured", Name: "configured", scopes: []Scope{Admin}}, nil
	}
	if !wellFormed(secret, s.environment) {
		return Principal{}, errInvalidKey()
	}
	key, found, err := s.keyring.find(hash, func() (Key, bool, error) { return s.findKey(ctx, hash) })
	if err != nil {
		return Principal{}, err
	}
	if !found || key.expired(s.now()) {
		return Principal{}, errInvalidKey()
	}
	return Principal{Actor: fmt.Sprintf("keys/%d", key.ID), Name: key.Name, scopes: key.Scopes}, nil
}

func errInvalidKey() error {
	return Errorf(InvalidAPIKey, "The API key is not valid here; send one that this store has issued and that has not expired.")
}

func (s *Service) findKey(ctx context.Context, hash SecretHash) (key Key, found bool, err error) {
	err = s.store.Read(ctx, func(tx ReadTx) error {
		key, found, err = tx.KeyBySecret(hash)
		return err
	})
	return key, found, err
}

// CreateKey makes a key and returns it with its secret, which cannot be had again.
// It returns validation_failed where a member breaks a rule.
func (s *Service) CreateKey(ctx context.Context, n NewKey) (Key, string, error) {
	now := s.now()
	if err := n.problems(now).Err(); err != nil {
		return Key{}, "", err
	}
	secret := newSecret(s.environment)
	key, err := write(ctx, s.store, func(tx WriteTx) (Key, error) {
		return tx.InsertKey(Key{
			Name:      n.Name,
			Scopes:    n.Scopes,
			Hint:      secret[len(secret)-4:],
			CreatedAt: now,
			ExpiresAt: n.Expires,
		}, HashSecret(secret))
	})
	return key, secret, err
}

// HasKeys tells whether any key was ever made.
func (s *Service) HasKeys(ctx context.Context) (bool, error) {
	return read(ctx, s.store, func(tx ReadTx) (bool, error) { return tx.HasKeys() })
}
