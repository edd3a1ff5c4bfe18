package shop

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// NewKey describes a key to be created.
type NewKey struct {
	Name      string
	Scopes    []Scope
	ExpiresAt time.Time // the zero time means that the key never expires
}

// Problems validates the fields of a new key.
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
	if n.ExpiresAt.UTC().Year() > 9999 { // RFC 3339 cannot represent later years
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

// IsAdmin reports whether the key has the admin scope and has not expired.
func (k Key) IsAdmin(now time.Time) bool {
	return slices.Contains(k.Scopes, Admin) && !isPast(k.ExpiresAt, now)
}

// isPast reports whether now has reached end. If end is the zero time, it returns false.
func isPast(end, now time.Time) bool { return !end.IsZero() && !now.Before(end) }

// ListKeys returns one page of keys, newest first.
func (s *Service) ListKeys(ctx context.Context, page PageRequest) (Page[Key], error) {
	keys, err := read(ctx, s, Reading{}, func(tx ReadTx) (Page[Key], error) {
		keys, err := tx.Keys(page.oneMore())
		return pageOf(page.Limit, keys, err)
	})
	for i := range keys.Items {
		s.setLastUsed(&keys.Items[i])
	}
	return keys, err
}

// setLastUsed updates key.LastUsedAt if this node knows of a later use.
func (s *Service) setLastUsed(key *Key) { key.LastUsedAt = s.keyUses.of(key.ID, key.LastUsedAt) }

// IssuedKey is a key together with its new secret. The secret is returned only once and cannot be recovered.
type IssuedKey struct {
	Key
	Secret string `json:"key,omitempty"`
}

// CurrentKey returns the principal's own key as it is now. It fails with not_found if the key has been
// revoked since the request was authenticated.
func (s *Service) CurrentKey(ctx context.Context, p Principal) (Key, error) {
	if p.key.ID == 0 {
		return p.key, nil
	}
	key, err := read(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) (Key, error) { return existingKey(tx, p.key.ID) })
	s.setLastUsed(&key)
	return key, err
}

// CreateKey creates a key with a new secret. It fails with validation_failed if any field is invalid.
func (s *Service) CreateKey(ctx context.Context, by Caller, n NewKey) (IssuedKey, error) {
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
	return write(ctx, s, Writing{By: by}, func(tx *eventTx) (IssuedKey, error) {
		inserted, err := tx.InsertKey(key)
		if err != nil {
			return IssuedKey{}, err
		}
		return IssuedKey{inserted, secret}, tx.InsertSecret(inserted.ID, HashSecret(secret))
	})
}

// MaxOverlap is the maximum time for which old secrets keep working after a rotation.
const MaxOverlap = 30 * 24 * time.Hour

// OverlapProblem explains why an overlap is invalid. It returns "" if the overlap is valid.
func OverlapProblem(overlap time.Duration) string {
	if overlap < 0 || overlap > MaxOverlap {
		return fmt.Sprintf("must be from 0 to %d seconds", int(MaxOverlap.Seconds()))
	}
	return ""
}

// RotateKey gives a key a new secret. The old secrets expire after the overlap. RotateKey fails with
// not_found if the key does not exist, or with validation_failed if the overlap is out of range.
func (s *Service) RotateKey(ctx context.Context, by Caller, id int64, overlap time.Duration) (IssuedKey, error) {
	if reason := OverlapProblem(overlap); reason != "" {
		return IssuedKey{}, Errorf(ValidationFailed, "The overlap %s.", reason)
	}
	now := s.now()
	secret := newSecret(s.environment)
	defer s.keyCache.forget(id)
	return write(ctx, s, Writing{By: by}, func(tx *eventTx) (IssuedKey, error) {
		key, err := existingKey(tx, id)
		if err != nil {
			return IssuedKey{}, err
		}
		if err := tx.ExpireSecrets(id, now, now.Add(overlap)); err != nil {
			return IssuedKey{}, err
		}
		s.setLastUsed(&key)
		if err := tx.SetHint(key, hint(secret)); err != nil {
			return IssuedKey{}, err
		}
		key.Hint = hint(secret)
		return IssuedKey{key, secret}, tx.InsertSecret(id, HashSecret(secret))
	})
}

// RevokeKey deletes a key. It fails with not_found if the key does not exist, or with last_admin_key if it is
// the only valid key with the admin scope.
func (s *Service) RevokeKey(ctx context.Context, by Caller, id int64) error {
	err := s.writeOnly(ctx, Writing{By: by}, func(tx *eventTx) error {
		key, err := existingKey(tx, id)
		if err != nil {
			return err
		}
		if now := s.now(); key.IsAdmin(now) {
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
		s.keyCache.forget(id)
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

// HasKeys reports whether there is a key that someone may be able to use. Nobody knows the secrets of the
// keys that are created with a demo store, so these keys do not count. None of them has the admin scope,
// which is why HasKeys looks only for admin keys in a demo store.
func (s *Service) HasKeys(ctx context.Context) (bool, error) {
	return read(ctx, s, Reading{}, func(tx ReadTx) (bool, error) {
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

// KeyReader contains the methods of ReadTx that read keys.
type KeyReader interface {
	// Key returns the key with the given id and whether it exists.
	Key(id int64) (Key, bool, error)
	// Keys returns at most page.Limit keys, sorted by descending id.
	Keys(page PageRequest) ([]Key, error)
	// Credential returns the key that a hashed secret belongs to and whether there is one. The key, the
	// secret or both may have expired.
	Credential(hash SecretHash) (Credential, bool, error)
	// CurrentSecret returns the hash of the key's current secret, which is the one that no rotation has replaced. It
	// fails if the key does not exist.
	CurrentSecret(id int64) (SecretHash, error)
	// CountAdmins returns the number of keys that have the admin scope and have not expired.
	CountAdmins(now time.Time) (int, error)
}

// KeyMutations contains the methods of Mutations that change keys.
type KeyMutations interface {
	// InsertKey stores a key under a new id and returns the stored key. It ignores the ID field of its
	// argument. The new id is larger than every id assigned before.
	InsertKey(Key) (Key, error)
	// SetHint stores the hint for a key's new secret. before must be the key as it is stored.
	SetHint(before Key, hint string) error
	// DeleteKey removes a key with all of its secrets, sessions and sign-in links.
	DeleteKey(Key) error
}

// KeyBookkeeping contains the methods of Bookkeeping that change the secrets and the last use of keys. A new
// secret needs no event of its own, because the event recorded by InsertKey or SetHint already reports it.
type KeyBookkeeping interface {
	// InsertSecret adds a secret to the key with the given id.
	InsertSecret(id int64, hash SecretHash) error
	// ExpireSecrets sets the expiry of every secret of a key to until, except for secrets that expire
	// earlier. It removes the secrets that have already expired. The sessions and sign-in links of these
	// secrets end with them.
	ExpireSecrets(id int64, now, until time.Time) error
	// SetKeyLastUsed stores when a key was used, unless a later use is already stored. It does nothing if
	// the key has been deleted.
	SetKeyLastUsed(id int64, at time.Time) error
}
