package sqlstore

import (
	"database/sql"
	"strings"

	"animalstore/internal/shop"
)

func scanKey(scan scanner) (shop.Key, error) {
	var key shop.Key
	var scopes string
	var created int64
	var expires sql.Null[int64]
	err := scan(&key.ID, &key.Name, &scopes, &key.Hint, &created, &expires)
	for scope := range strings.FieldsSeq(scopes) {
		key.Scopes = append(key.Scopes, shop.Scope(scope))
	}
	key.CreatedAt = fromMicros(created)
	key.ExpiresAt = fromMicros(expires.V)
	return key, err
}

func (t *tx) KeyBySecret(hash shop.SecretHash) (shop.Key, bool, error) {
	return one(t, scanKey, `
		SELECT k.id, k.name, k.scopes, k.hint, k.created_at, k.expires_at
		FROM key_secrets s JOIN keys k ON k.id = s.key_id WHERE s.hash = $1`, hash[:])
}

func (t *tx) HasKeys() (bool, error) {
	_, found, err := one(t, scanValue[int64], "SELECT id FROM keys LIMIT 1")
	return found, err
}

func (t *tx) InsertKey(key shop.Key, hash shop.SecretHash) (shop.Key, error) {
	scopes := make([]string, len(key.Scopes))
	for i, scope := range key.Scopes {
		scopes[i] = string(scope)
	}
	inserted, _, err := one(t, scanKey, `
		INSERT INTO keys (name, scopes, hint, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
		RETURNING id, name, scopes, hint, created_at, expires_at`,
		key.Name, strings.Join(scopes, " "), key.Hint, micros(key.CreatedAt), nullable(micros(key.ExpiresAt)))
	if err != nil {
		return shop.Key{}, err
	}
	return inserted, t.exec("INSERT INTO key_secrets (hash, key_id) VALUES ($1, $2)", hash[:], inserted.ID)
}
