package sqlstore

import (
	"database/sql"
	"encoding/json"
	"time"

	"animalstore/internal/shop"
)

// keptHeader contains the headers of a stored response. It is stored as JSON.
type keptHeader struct {
	Location string `json:",omitempty"`
	ETag     string `json:",omitempty"`
}

func scanKept(scan Scanner) (shop.IdempotencyRecord, error) {
	var kept shop.IdempotencyRecord
	var fingerprint []byte
	var header string
	var at int64
	if err := scan(&fingerprint, &kept.Status, &header, &kept.Body, &at); err != nil {
		return kept, err
	}
	copy(kept.Fingerprint[:], fingerprint)
	kept.At = fromMicros(at)
	var h keptHeader
	err := json.Unmarshal([]byte(header), &h)
	kept.Location, kept.Tag = h.Location, h.ETag
	return kept, err
}

func (t *tx) IdempotencyRecord(principal int64, key string) (shop.IdempotencyRecord, bool, error) {
	return one(t, scanKept, "SELECT fingerprint, status, header, body, kept_at FROM kept_answers WHERE principal = $1 AND key = $2",
		principal, key)
}

func (t *tx) PutIdempotencyRecord(principal int64, key string, kept shop.IdempotencyRecord) error {
	header, err := json.Marshal(keptHeader{kept.Location, kept.Tag})
	if err != nil {
		return err
	}
	args := []any{principal, key, kept.Fingerprint[:], kept.Status, string(header), kept.Body}
	at := t.dialect.time
	if at == "" || !kept.At.IsZero() {
		if kept.At.IsZero() {
			if kept.At, err = t.Now(); err != nil {
				return err
			}
		}
		at, args = "$7", append(args, micros(kept.At))
	}
	return t.exec(`
		INSERT INTO kept_answers (principal, key, fingerprint, status, header, body, kept_at)
		VALUES ($1, $2, $3, $4, $5, $6, `+at+`)
		ON CONFLICT (principal, key) DO UPDATE SET
			fingerprint = excluded.fingerprint, status = excluded.status, header = excluded.header, body = excluded.body,
			kept_at = excluded.kept_at`, args...)
}

// forgetAtOnce limits how many responses one call of DeleteIdempotencyRecords removes.
const forgetAtOnce = 1000

// DeleteIdempotencyRecords removes the oldest stored responses. It first reads the time of the last response
// that it will remove. With this time as the limit of the DELETE, the planner uses the index on kept_at.
func (t *tx) DeleteIdempotencyRecords(before time.Time) (more bool, err error) {
	end, _, err := one(t, scanValue[sql.Null[int64]], `
		SELECT max(kept_at) FROM (SELECT kept_at FROM kept_answers WHERE kept_at <= $1 ORDER BY kept_at LIMIT $2) AS oldest`,
		micros(before), forgetAtOnce)
	if err != nil || !end.Valid {
		return false, err
	}
	removed, err := all(t, scanValue[int64], "DELETE FROM kept_answers WHERE kept_at <= $1 RETURNING principal", end.V)
	return len(removed) >= forgetAtOnce, err
}
