package shop

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Scope is a permission of a key.
type Scope string

const (
	PetsRead    Scope = "pets:read"
	PetsWrite   Scope = "pets:write"
	OrdersRead  Scope = "orders:read"
	OrdersWrite Scope = "orders:write"
	EventsRead  Scope = "events:read"
	Admin       Scope = "admin"
)

// Scopes returns all scopes in their documented order.
func Scopes() []Scope {
	return []Scope{PetsRead, PetsWrite, OrdersRead, OrdersWrite, EventsRead, Admin}
}

// ScopesText joins scopes into a list for people.
func ScopesText(scopes []Scope) string { return joinWords(scopes, ", ") }

// NewKey describes a key to be created.
type NewKey struct {
	Name      string
	Scopes    []Scope
	ExpiresAt time.Time // zero means never
}

// Problems checks the members of a new key.
func (n NewKey) Problems(now time.Time) Problems {
	var p Problems
	if reason := TextProblem(n.Name); reason != "" {
		p.Add("name", reason)
	}
	if len(n.Scopes) == 0 {
		p.Add("scopes", "must contain at least one of "+ScopesText(Scopes()))
	}
	for _, scope := range n.Scopes {
		if !slices.Contains(Scopes(), scope) {
			p.Add("scopes", "must contain only "+ScopesText(Scopes()))
		}
	}
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(now) {
		p.Add("expiresAt", "must be in the future")
	}
	if n.ExpiresAt.UTC().Year() > 9999 { // RFC 3339 ends there
		p.Add("expiresAt", "must be before the year 10000")
	}
	return p
}

// Key is an API key without its secret.
type Key struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	Scopes     []Scope   `json:"scopes"`
	Hint       string    `json:"hint"` // the last four characters of the secret
	CreatedAt  time.Time `json:"createdAt"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"`
}

// isAdmin reports whether the key has the scope admin and has not expired.
func (k Key) isAdmin(now time.Time) bool {
	return slices.Contains(k.Scopes, Admin) && !isPast(k.ExpiresAt, now)
}

// isPast reports whether a time has come. The zero time never comes.
func isPast(end, now time.Time) bool { return !end.IsZero() && !now.Before(end) }

// ListKeys returns one page of the keys, newest first.
func (s *Service) ListKeys(ctx context.Context, page PageRequest) (Page[Key], error) {
	keys, err := read(ctx, s, func(tx ReadTx) (Page[Key], error) { return pageOf(page, tx.Keys) })
	for i := range keys.Items {
		s.lastUsed.apply(&keys.Items[i])
	}
	return keys, err
}

// IssuedKey is a key with its new secret. The secret is returned once and cannot be recovered.
type IssuedKey struct {
	Key
	Secret string `json:"key,omitempty"`
}

// CreateKey creates a key. It returns validation_failed.
func (s *Service) CreateKey(ctx context.Context, n NewKey) (IssuedKey, error) {
	now := s.now()
	if err := n.Problems(now).Err(); err != nil {
		return IssuedKey{}, err
	}
	secret := newSecret(s.environment)
	key := Key{
		Name:      n.Name,
		Scopes:    slices.DeleteFunc(Scopes(), func(s Scope) bool { return !slices.Contains(n.Scopes, s) }),
		Hint:      hint(secret),
		CreatedAt: now,
		ExpiresAt: n.ExpiresAt.UTC().Truncate(time.Microsecond),
	}
	return write(ctx, s, func(tx *eventTx) (IssuedKey, error) {
		inserted, err := tx.InsertKey(key)
		if err != nil {
			return IssuedKey{}, err
		}
		return IssuedKey{inserted, secret}, tx.InsertSecret(inserted.ID, HashSecret(secret))
	})
}

// DefaultOverlap and MaxOverlap are how long the old secrets keep working after a rotation.
const (
	DefaultOverlap = 24 * time.Hour
	MaxOverlap     = 30 * 24 * time.Hour
)

// OverlapProblem returns why an overlap is invalid, or "".
func OverlapProblem(overlap time.Duration) string {
	if overlap < 0 || overlap > MaxOverlap {
		return fmt.Sprintf("must be from 0 to %d seconds", int(MaxOverlap.Seconds()))
	}
	return ""
}

// RotateKey gives a key a new secret; the old ones expire after the overlap. It returns not_found, or
// validation_failed for an overlap that is out of range.
func (s *Service) RotateKey(ctx context.Context, id int64, overlap time.Duration) (IssuedKey, error) {
	if reason := OverlapProblem(overlap); reason != "" {
		return IssuedKey{}, Errorf(ValidationFailed, "The overlap %s.", reason)
	}
	now := s.now()
	secret := newSecret(s.environment)
	return write(ctx, s, func(tx *eventTx) (IssuedKey, error) {
		key, err := existingKey(tx, id)
		if err != nil {
			return IssuedKey{}, err
		}
		if err := tx.ExpireSecrets(id, now, now.Add(overlap)); err != nil {
			return IssuedKey{}, err
		}
		s.lastUsed.apply(&key)
		if err := tx.SetHint(key, hint(secret)); err != nil {
			return IssuedKey{}, err
		}
		key.Hint = hint(secret)
		return IssuedKey{key, secret}, tx.InsertSecret(id, HashSecret(secret))
	})
}

// RevokeKey deletes a key. It returns not_found, or last_admin_key if no key could create keys any more.
func (s *Service) RevokeKey(ctx context.Context, id int64) error {
	err := s.writeOnly(ctx, func(tx *eventTx) error {
		key, err := existingKey(tx, id)
		if err != nil {
			return err
		}
		if now := s.now(); key.isAdmin(now) {
			admins, err := tx.CountAdmins(now)
			if err != nil {
				return err
			}
			if admins == 1 {
				return Errorf(LastAdminKey, "This is the last admin key; create another one before you revoke it.")
			}
		}
		return tx.DeleteKey(key)
	})
	if err == nil {
		s.lastUsed.forget(id)
	}
	return err
}

func existingKey(tx ReadTx, id int64) (Key, error) {
	key, found, err := tx.Key(id)
	if err == nil && !found {
		err = Errorf(NotFound, "There is no key with the id %d; list the keys to find an existing one.", id)
	}
	return key, err
}

// HasKeys reports whether anyone may hold a key. The secrets of the keys that come with a demo store are
// unknown; none of those keys has the scope admin.
func (s *Service) HasKeys(ctx context.Context) (bool, error) {
	return read(ctx, s, func(tx ReadTx) (bool, error) {
		demo, err := tx.Demo()
		if err != nil {
			return false, err
		}
		if demo {
			admins, err := tx.CountAdmins(s.now())
			return admins > 0, err
		}
		keys, err := tx.Keys(PageRequest{Limit: 1})
		return len(keys) > 0, err
	})
}

// KeyReader reads keys.
type KeyReader interface {
	// Key returns one key and whether it exists.
	Key(id int64) (Key, bool, error)
	// Keys returns at most page.Limit keys by descending id.
	Keys(page PageRequest) ([]Key, error)
	// Credential returns the key that a secret belongs to and whether there is one. Either may have expired.
	Credential(hash SecretHash) (Credential, bool, error)
	// CountAdmins counts the keys with the scope admin that have not expired.
	CountAdmins(now time.Time) (int, error)
}

// KeyMutations changes what clients can see of keys.
type KeyMutations interface {
	// InsertKey adds a key and ignores its ID. The new id is larger than every id before it.
	InsertKey(Key) (Key, error)
	// SetHint stores the hint of a key's new secret. before must be the stored state.
	SetHint(before Key, hint string) error
	// DeleteKey removes a key with its secrets.
	DeleteKey(Key) error
}

// KeyBookkeeping changes the secrets and the last use of keys. A new secret is reported by the event of
// InsertKey or SetHint.
type KeyBookkeeping interface {
	// InsertSecret adds a secret to a key.
	InsertSecret(id int64, hash SecretHash) error
	// ExpireSecrets ends every secret of a key at the given time, unless it ends earlier, and removes those
	// that have ended by now.
	ExpireSecrets(id int64, now, until time.Time) error
	// SetKeyLastUsed stores a use of a key unless a later one is stored. The key may have been deleted.
	SetKeyLastUsed(id int64, at time.Time) error
}
