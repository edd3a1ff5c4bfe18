package sqlstore

import (
	"time"

	"animalstore/internal/shop"
)

func scanSession(scan Scanner) (shop.Session, error) {
	var session shop.Session
	var secret []byte
	var ends int64
	err := scan(&secret, &ends)
	copy(session.Secret[:], secret)
	session.EndsAt = fromMicros(ends)
	return session, err
}

func (t *tx) Session(token shop.SecretHash) (shop.Session, bool, error) {
	return one(t, scanSession, "SELECT secret_hash, ends_at FROM sessions WHERE hash = $1", token[:])
}

func (t *tx) InsertSession(token shop.SecretHash, session shop.Session) error {
	return t.exec("INSERT INTO sessions (hash, secret_hash, ends_at) VALUES ($1, $2, $3)",
		token[:], session.Secret[:], micros(session.EndsAt))
}

func (t *tx) DeleteSession(token shop.SecretHash) error {
	return t.exec("DELETE FROM sessions WHERE hash = $1", token[:])
}

func (t *tx) RemoveSessions(now time.Time) (more bool, err error) {
	removed, err := all(t, scanValue[int64], `
		DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE ends_at <= $1 ORDER BY ends_at LIMIT $2)
		RETURNING ends_at`, micros(now), removeAtOnce)
	return len(removed) == removeAtOnce, err
}
