package shop_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A write and its response are stored together. If anything could fail in between, a repeated request would
// write twice or get no response.
func TestResponseIsStoredTogetherWithItsWrite(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	failWrites(s, 1)
	wantReplay(t, s.Service, "k", false)
	s.Store.FailWith(nil)
	wantReplay(t, s.Service, "k", true)
	equal(t, "animals", must(s.Inventory(t.Context()))(t).Unspecified, 1)
}

// A client that gets no response repeats its request, also to another node. The write happens once.
func TestRepeatedRequestOnTwoNodesIsDoneOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service) {
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			var done atomic.Int64
			atOnce(6, func(i int) {
				err := addOnce(t, nodes[i%2], key)
				if _, replay := errors.AsType[*shop.ReplayError](err); err == nil {
					done.Add(1)
				} else if !replay {
					t.Errorf("%s: %v", key, err)
				}
			})
			equal(t, key+" was done", done.Load(), 1)
		}
		equal(t, "animals", must(s.Inventory(t.Context()))(t).Unspecified, 5)
	})
}
