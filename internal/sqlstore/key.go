package sqlstore

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"animalstore/internal/shop"
)

const keyColumns = "id, name, scopes, hint, created_at, expires_at, last_used_at"

func scanKey(scan Scanner) (shop.Key, error) { return scanKeyWith(scan) }

// scanKeyWith scans the columns of a key and returns the key. It scans all further columns into more.
func scanKeyWith(scan Scanner, more ...any) (shop.Key, error) {
	var key shop.Key
	var scopes string
	var created int64
	var expires, used sql.Null[int64]
	err := scan(append([]any{&key.ID, &key.Name, &scopes, &key.Hint, &created, &expires, &used}, more...)...)
	for scope := range strings.FieldsSeq(scopes) {
		key.Scopes = append(key.Scopes, shop.Scope(scope))
	}
	key.CreatedAt, key.ExpiresAt, key.LastUsedAt = fromMicros(created), fromMicros(expires.V), fromMicros(used.V)
	return key, err
}

func (t *tx) Key(id int64) (shop.Key, bool, error) {
	return one(t, scanKey, "SELECT "+keyColumns+" FROM keys WHERE id = $1", id)
}

func (t *tx) Keys(w shop.PageRequest) ([]shop.Key, error) {
	var c conditions
	query, args := c.page("SELECT "+keyColumns+" FROM keys", w, "id < %s", "id DESC")
	return all(t, scanKey, query, args...)
}

func (t *tx) Credential(hash shop.SecretHash) (shop.Credential, bool, error) {
	return one(t, func(scan Scanner) (shop.Credential, error) {
		var until sql.Null[int64]
		key, err := scanKeyWith(scan, &until)
		return shop.Credential{Key: key, Until: fromMicros(until.V)}, err
	}, "SELECT "+keyColumns+", ends_at FROM key_secrets JOIN keys ON id = key_id WHERE hash = $1", hash[:])
}

func (t *tx) CurrentSecret(id int64) (hash shop.SecretHash, err error) {
	stored, found, err := one(t, scanValue[[]byte], "SELECT hash FROM key_secrets WHERE key_id = $1 AND ends_at IS NULL", id)
	if err == nil && !found {
		err = fmt.Errorf("key %d has no secret without an end", id)
	}
	copy(hash[:], stored)
	return hash, err
}

func (t *tx) CountAdmins(now time.Time) (int, error) {
	n, _, err := one(t, scanValue[int], `
		SELECT count(*) FROM keys
		WHERE ' ' || scopes || ' ' LIKE '% admin %' AND (expires_at IS NULL OR expires_at > $1)`, micros(now))
	return n, err
}

func (t *tx) InsertKey(key shop.Key) (shop.Key, error) {
	inserted, _, err := one(t, scanKey, `
		INSERT INTO keys (name, scopes, hint, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
		RETURNING `+keyColumns,
		key.Name, words(key.Scopes), key.Hint, micros(key.CreatedAt), nullable(micros(key.ExpiresAt)))
	return inserted, err
}

func (t *tx) InsertSecret(id int64, hash shop.SecretHash) error {
	return t.Exec("INSERT INTO key_secrets (hash, key_id) VALUES ($1, $2)", hash[:], id)
}

// ofKey is the SQL condition that a row belongs to one of the secrets of the key $1.
const ofKey = "secret_hash IN (SELECT hash FROM key_secrets WHERE key_id = $1)"

func (t *tx) ExpireSecrets(id int64, now, until time.Time) error {
	if err := t.Exec("DELETE FROM key_secrets WHERE key_id = $1 AND ends_at <= $2", id, micros(now)); err != nil {
		return err
	}
	for _, table := range []string{"sessions", "sign_in_links"} {
		if err := t.Exec("UPDATE "+table+" SET ends_at = $2 WHERE ends_at > $2 AND "+ofKey, id, micros(until)); err != nil {
			return err
		}
	}
	return t.Exec("UPDATE key_secrets SET ends_at = $1 WHERE key_id = $2 AND (ends_at IS NULL OR ends_at > $1)",
		micros(until), id)
}

func (t *tx) SetHint(key shop.Key, hint string) error {
	return t.Exec("UPDATE keys SET hint = $1 WHERE id = $2", hint, key.ID)
}

func (t *tx) SetKeyLastUsed(id int64, at time.Time) error {
	return t.Exec("UPDATE keys SET last_used_at = $1 WHERE id = $2 AND (last_used_at IS NULL OR last_used_at < $1)", micros(at), id)
}

func (t *tx) DeleteKey(key shop.Key) error {
	for _, statement := range []string{
		"DELETE FROM sessions WHERE " + ofKey, "DELETE FROM sign_in_links WHERE " + ofKey, "DELETE FROM key_secrets WHERE key_id = $1",
	} {
		if err := t.Exec(statement, key.ID); err != nil {
			return err
		}
	}
	return t.Exec("DELETE FROM keys WHERE id = $1", key.ID)
}
