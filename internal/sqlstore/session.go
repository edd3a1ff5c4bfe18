package sqlstore

import (
	"database/sql"
	"time"

	"animalstore/internal/shop"
)

// selectSessions is the beginning of a query for sessions and the keys to which their secrets belong.
const selectSessions = `
	SELECT s.hash, s.secret_hash, s.ends_at, s.created_at, s.last_seen_at, s.device, k.id, k.name
	FROM sessions s LEFT JOIN key_secrets c ON c.hash = s.secret_hash LEFT JOIN keys k ON k.id = c.key_id `

func scanSession(scan Scanner) (shop.Session, error) {
	var session shop.Session
	var id, secret []byte
	var ends int64
	var created, seen, keyID sql.Null[int64]
	var device, keyName sql.Null[string]
	err := scan(&id, &secret, &ends, &created, &seen, &device, &keyID, &keyName)
	copy(session.ID[:], id)
	copy(session.Secret[:], secret)
	session.EndsAt, session.CreatedAt, session.LastSeenAt = fromMicros(ends), fromMicros(created.V), fromMicros(seen.V)
	session.Device, session.KeyID, session.KeyName = device.V, keyID.V, keyName.V
	return session, err
}

func (t *tx) Session(id shop.SecretHash) (shop.Session, bool, error) {
	return one(t, scanSession, selectSessions+"WHERE s.hash = $1", id[:])
}

func (t *tx) Sessions(l shop.SessionList) ([]shop.Session, error) {
	const order = " ORDER BY coalesce(s.last_seen_at, 0) DESC, s.hash LIMIT $2"
	if l.KeyID == nil {
		return all(t, scanSession, selectSessions+"WHERE s.ends_at > $1"+order, micros(l.Now), l.Limit)
	}
	return all(t, scanSession, selectSessions+"WHERE s.ends_at > $1 AND coalesce(k.id, 0) = $3"+order, micros(l.Now), l.Limit, *l.KeyID)
}

func (t *tx) InsertSession(session shop.Session) error {
	return t.Exec("INSERT INTO sessions (hash, secret_hash, ends_at, created_at, last_seen_at, device) VALUES ($1, $2, $3, $4, $5, $6)",
		session.ID[:], session.Secret[:], micros(session.EndsAt), nullable(micros(session.CreatedAt)), nullable(micros(session.LastSeenAt)),
		nullable(session.Device))
}

func (t *tx) TrimSessions(secret shop.SecretHash, keep int) error {
	return t.Exec(`
		DELETE FROM sessions WHERE hash IN (
			SELECT hash FROM sessions WHERE secret_hash IN (
				SELECT $1 UNION SELECT c.hash FROM key_secrets c JOIN key_secrets own ON own.key_id = c.key_id WHERE own.hash = $1)
			ORDER BY coalesce(created_at, 0) DESC, hash LIMIT $2 OFFSET $3)`,
		secret[:], removeAtOnce, keep)
}

func (t *tx) SetSessionLastSeen(id shop.SecretHash, at time.Time) error {
	return t.Exec("UPDATE sessions SET last_seen_at = $1 WHERE hash = $2 AND (last_seen_at IS NULL OR last_seen_at < $1)", micros(at), id[:])
}

func (t *tx) DeleteSession(id shop.SecretHash) error {
	return t.Exec("DELETE FROM sessions WHERE hash = $1", id[:])
}

func (t *tx) RemoveSessions(now time.Time) (more bool, err error) {
	removed, err := all(t, scanValue[int64], `
		DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE ends_at <= $1 ORDER BY ends_at LIMIT $2)
		RETURNING ends_at`, micros(now), removeAtOnce)
	return len(removed) == removeAtOnce, err
}
