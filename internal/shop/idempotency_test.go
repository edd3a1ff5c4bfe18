package shop_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A write and its response are stored together. If only one of them were stored, a repeated request would write twice
// or get no response.
func TestResponseIsStoredTogetherWithItsWrite(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	failWrites(s, 1)
	wantReplay(t, s.Service, "k", false)
	s.Store.FailWith(nil)
	wantReplay(t, s.Service, "k", true)
	equal(t, "animals", must(s.Inventory(t.Context()))(t).Unspecified, 1)
}

// A client that gets no response may repeat its request to another node. The write still happens only once.
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

// A retry writes nothing, so it uses up no id.
func TestRetryLeavesNoGapBetweenIDs(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *shoptest.Shop, _ []*shop.Service) {
		wantReplay(t, s.Service, "animal", false)
		wantReplay(t, s.Service, "animal", true)
		pet := s.AddPet(t, "Rex", 1, shop.Available)
		equal(t, "the id of the second animal", pet.ID, 2)
		order := must(s.PlaceOrder(t.Context(), withKey("order"), shop.NewOrder{PetID: pet.ID}))(t)
		must(s.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{Status: new(shop.Cancelled)}, nil))(t)
		if _, err := s.PlaceOrder(t.Context(), withKey("order"), shop.NewOrder{PetID: pet.ID}); err == nil {
			t.Error("the order was placed twice")
		}
		equal(t, "the id of the second order", placeHold(t, s).ID, order.ID+1)
	})
}
