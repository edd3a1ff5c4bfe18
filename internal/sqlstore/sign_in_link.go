package sqlstore

import (
	"time"

	"animalstore/internal/shop"
)

const signInLinkColumns = "hash, secret_hash, ends_at"

func scanSignInLink(scan Scanner) (shop.SignInLink, error) {
	var link shop.SignInLink
	var id, secret []byte
	var ends int64
	err := scan(&id, &secret, &ends)
	copy(link.ID[:], id)
	copy(link.Secret[:], secret)
	link.EndsAt = fromMicros(ends)
	return link, err
}

func (t *tx) SignInLink(id shop.SecretHash) (shop.SignInLink, bool, error) {
	return one(t, scanSignInLink, "SELECT "+signInLinkColumns+" FROM sign_in_links WHERE hash = $1", id[:])
}

func (t *tx) PutSignInLink(link shop.SignInLink) error {
	return t.Exec(`
		INSERT INTO sign_in_links (hash, secret_hash, ends_at) VALUES ($1, $2, $3)
		ON CONFLICT (secret_hash) DO UPDATE SET hash = excluded.hash, ends_at = excluded.ends_at`,
		link.ID[:], link.Secret[:], micros(link.EndsAt))
}

func (t *tx) TakeSignInLink(id shop.SecretHash) (shop.SignInLink, bool, error) {
	return one(t, scanSignInLink, "DELETE FROM sign_in_links WHERE hash = $1 RETURNING "+signInLinkColumns, id[:])
}

// RemoveSignInLinks removes all expired links at once, because there is at most one link for each secret.
func (t *tx) RemoveSignInLinks(now time.Time) error {
	return t.Exec("DELETE FROM sign_in_links WHERE ends_at <= $1", micros(now))
}
