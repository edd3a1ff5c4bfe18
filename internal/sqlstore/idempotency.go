package sqlstore

import (
	"encoding/json"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/postgres"
)

// recordHeader contains the headers of a stored response. It is stored as JSON.
type recordHeader struct {
	Location string `json:",omitempty"`
	ETag     string `json:",omitempty"`
}

func scanRecord(scan Scanner) (shop.IdempotencyRecord, error) {
	var record shop.IdempotencyRecord
	var fingerprint []byte
	var header string
	var at int64
	if err := scan(&fingerprint, &record.Status, &header, &record.Body, &at); err != nil {
		return record, err
	}
	copy(record.Fingerprint[:], fingerprint)
	record.At = fromMicros(at)
	var h recordHeader
	err := json.Unmarshal([]byte(header), &h)
	record.Location, record.Tag = h.Location, h.ETag
	return record, err
}

const selectRecord = "SELECT fingerprint, status, header, body, kept_at FROM idempotency_records WHERE principal = $1 AND key = $2"

func (t *tx) IdempotencyRecord(principal int64, key string) (shop.IdempotencyRecord, bool, error) {
	return one(t, scanRecord, selectRecord, principal, key)
}

// recordColumns are the columns of idempotency_records. appendRecord appends the values for all of them except the last, which
// is the time.
const recordColumns = "principal, key, fingerprint, status, header, body, kept_at"

// recordInsertion adds records.
var recordInsertion = &engine.Insertion{Table: "idempotency_records", Columns: recordColumns,
	Types: []string{"BIGINT", "TEXT", "BYTEA", "BIGINT", "TEXT", "BYTEA", "BIGINT"}}

// appendRecord appends the values of a record to args, one for each of recordColumns except the last, which is the
// time.
func appendRecord(args []any, principal int64, key string, kept shop.IdempotencyRecord) []any {
	header, err := json.Marshal(recordHeader{kept.Location, kept.Tag})
	if err != nil {
		panic(err) // two strings can always be encoded
	}
	return append(args, principal, key, kept.Fingerprint[:], kept.Status, string(header), kept.Body)
}

// PutIdempotencyRecord adds a record or replaces an expired one.
func (t *tx) PutIdempotencyRecord(principal int64, key string, kept shop.IdempotencyRecord) error {
	args, at := appendRecord(nil, principal, key, kept), postgres.NowMicros
	if clock := t.dialect.clock; clock != nil && kept.At.IsZero() {
		kept.At = clock()
	}
	if !kept.At.IsZero() {
		at, args = "$7", append(args, micros(kept.At))
	}
	return t.Exec("INSERT INTO idempotency_records ("+recordColumns+") VALUES ($1, $2, $3, $4, $5, $6, "+at+`)
		ON CONFLICT (principal, key) DO UPDATE SET
			fingerprint = excluded.fingerprint, status = excluded.status, header = excluded.header, body = excluded.body,
			kept_at = excluded.kept_at`, args...)
}

// forgetAtOnce is roughly how many stored responses one call of DeleteIdempotencyRecords removes.
const forgetAtOnce = 250

// DeleteIdempotencyRecords removes responses that were stored at or before the given time, oldest first.
func (t *tx) DeleteIdempotencyRecords(before time.Time) (more bool, err error) {
	return t.sweep("responses", "idempotency_records", "kept_at", "", before, forgetAtOnce)
}
