package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

var idempotencyCases = []testCase{
	{"an answer is kept for whom it was, and for a time", func(t *testing.T, store shop.Store) {
		now := utcNow()
		answer := shop.IdempotencyRecord{
			Fingerprint: [32]byte{1, 2, 3}, At: now,
			StoredResponse: shop.StoredResponse{Status: 201, Location: `/v1/"x"`, Tag: `"t"`, Body: []byte("{\"x\":\"\x00🐈\"}")},
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.PutIdempotencyRecord(7, "k", answer) })
		want := func(principal int64, key string, want *shop.IdempotencyRecord) {
			t.Helper()
			read(t, store, func(tx shop.ReadTx) error {
				got, found, err := tx.IdempotencyRecord(principal, key)
				if found != (want != nil) {
					t.Errorf("%d %q: found %v", principal, key, found)
				} else if diff := cmp.Diff(want, &got); found && diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				return err
			})
		}
		want(7, "k", &answer)
		want(7, "K", nil)
		want(0, "k", nil)
		other := shop.IdempotencyRecord{Fingerprint: [32]byte{9}, At: now.Add(time.Hour), StoredResponse: shop.StoredResponse{Status: 200, Body: []byte("x")}}
		write(t, store, func(tx shop.WriteTx) error { return tx.PutIdempotencyRecord(7, "k", other) })
		want(7, "k", &other)
		forget := func(before time.Time) {
			t.Helper()
			write(t, store, func(tx shop.WriteTx) error {
				more, err := tx.DeleteIdempotencyRecords(before)
				if more {
					t.Error("there is more to forget")
				}
				return err
			})
		}
		forget(now.Add(time.Hour - time.Microsecond))
		want(7, "k", &other)
		forget(now.Add(time.Hour))
		want(7, "k", nil)
	}},
	{"an answer is kept from now on by the store's clock", func(t *testing.T, store shop.Store) {
		write(t, store, func(tx shop.WriteTx) error {
			before, err := tx.Now()
			if err == nil {
				err = tx.PutIdempotencyRecord(7, "k", shop.IdempotencyRecord{StoredResponse: shop.StoredResponse{Status: 204, Body: []byte{}}})
			}
			kept, found, keptErr := tx.IdempotencyRecord(7, "k")
			after, afterErr := tx.Now()
			if !found || kept.At.Before(before) || kept.At.After(after) {
				t.Errorf("between %v and %v: %v, %v", before, after, kept.At, found)
			}
			return errors.Join(err, keptErr, afterErr)
		})
	}},
}
