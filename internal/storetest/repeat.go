package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
)

var repeatCases = []testCase{
	{"an answer is kept for whom it was, and for a time", func(t *testing.T, store shop.Store) {
		now := keyNow()
		answer := shop.KeptAnswer{
			Fingerprint: [32]byte{1, 2, 3},
			Answer:      shop.Answer{Status: 201, Location: `/v1/"x"`, Tag: `"t"`, Body: []byte("{\"x\":\"\x00🐈\"}")},
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.Keep(7, "k", answer, now) })
		want := func(principal int64, key string, since time.Time, want *shop.KeptAnswer) {
			t.Helper()
			read(t, store, func(tx shop.ReadTx) error {
				got, found, err := tx.Kept(principal, key, since)
				if found != (want != nil) {
					t.Errorf("%d %q: found %v", principal, key, found)
				} else if diff := cmp.Diff(want, &got); found && diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				return err
			})
		}
		want(7, "k", now.Add(-time.Second), &answer)
		want(7, "k", now, nil)
		want(7, "K", time.Time{}, nil)
		want(0, "k", time.Time{}, nil)
		other := shop.KeptAnswer{Fingerprint: [32]byte{9}, Answer: shop.Answer{Status: 200, Body: []byte("x")}}
		write(t, store, func(tx shop.WriteTx) error { return tx.Keep(7, "k", other, now.Add(time.Hour)) })
		want(7, "k", now, &other)
		forget := func(before time.Time) {
			t.Helper()
			write(t, store, func(tx shop.WriteTx) error {
				more, err := tx.Forget(before)
				if more {
					t.Error("there is more to forget")
				}
				return err
			})
		}
		forget(now.Add(time.Hour - time.Microsecond))
		want(7, "k", now, &other)
		forget(now.Add(time.Hour))
		want(7, "k", time.Time{}, nil)
	}},
}
