package storetest

import (
	"errors"
	"testing"
	"time"

	"animalstore/internal/shop"
)

var idempotencyCases = []testCase{
	{name: "a record is stored per principal until it is removed", run: func(t *testing.T, store shop.Store) {
		now := utcNow()
		record := shop.IdempotencyRecord{
			Fingerprint: [32]byte{1, 2, 3}, At: now,
			StoredResponse: shop.StoredResponse{Status: 201, Location: `/v1/"x"`, Tag: `"t"`, Body: []byte("{\"x\":\"\x00🐈\"}")},
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.PutIdempotencyRecord(7, "k", record) })
		want := func(principal int64, key string, want *shop.IdempotencyRecord) {
			t.Helper()
			wantFound(t, store, want, func(tx shop.ReadTx) (shop.IdempotencyRecord, bool, error) {
				return tx.IdempotencyRecord(principal, key)
			})
		}
		want(7, "k", &record)
		want(7, "K", nil)
		want(0, "k", nil)
		other := shop.IdempotencyRecord{Fingerprint: [32]byte{9}, At: now.Add(time.Hour), StoredResponse: shop.StoredResponse{Status: 200, Body: []byte("x")}}
		write(t, store, func(tx shop.WriteTx) error { return tx.PutIdempotencyRecord(7, "k", other) })
		want(7, "k", &other)
		remove := func(before time.Time) {
			t.Helper()
			write(t, store, func(tx shop.WriteTx) error {
				more, err := tx.DeleteIdempotencyRecords(before)
				if more {
					t.Error("DeleteIdempotencyRecords reports more")
				}
				return err
			})
		}
		remove(now.Add(time.Hour - time.Microsecond))
		want(7, "k", &other)
		remove(now.Add(time.Hour))
		want(7, "k", nil)
	}},
	{name: "a record without a time gets the store's time", run: func(t *testing.T, store shop.Store) {
		write(t, store, func(tx shop.WriteTx) error {
			before, err := tx.Now()
			if err == nil {
				err = tx.PutIdempotencyRecord(7, "k", shop.IdempotencyRecord{StoredResponse: shop.StoredResponse{Status: 204, Body: []byte{}}})
			}
			record, found, recordErr := tx.IdempotencyRecord(7, "k")
			after, afterErr := tx.Now()
			if !found || record.At.Before(before) || record.At.After(after) {
				t.Errorf("want a time between %v and %v, got %v, found %v", before, after, record.At, found)
			}
			return errors.Join(err, recordErr, afterErr)
		})
	}},
}
