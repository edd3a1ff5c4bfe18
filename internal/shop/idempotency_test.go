package shop_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

func onceRequest(key string) *shop.IdempotentRequest {
	return &shop.IdempotentRequest{Principal: 1, Key: key, Response: func(any) shop.StoredResponse { return shop.StoredResponse{Status: 201, Body: []byte(key)} }}
}

// A write and its response are stored together. If anything could fail in between, a repeated request would
// write twice or get no response.
func TestResponseIsStoredTogetherWithItsWrite(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	writes := 0
	s.Store.FailWith(func(write bool) error {
		if write {
			writes++
		}
		if writes > 1 {
			return shop.UnavailableError(errors.New("the store fails after the first write"))
		}
		return nil
	})
	ctx := shop.WithIdempotency(t.Context(), onceRequest("k"))
	if _, err := s.CreatePet(ctx, shop.NewPet{Name: "Rex", CategoryID: 1}); err != nil {
		t.Errorf("the write failed: %v", err)
	}
	s.Store.FailWith(nil)
	_, err := s.CreatePet(ctx, shop.NewPet{Name: "Rex", CategoryID: 1})
	if replay, ok := errors.AsType[*shop.ReplayError](err); !ok || string(replay.Body) != "k" {
		t.Errorf("the repeated write returned %v, want the stored response", err)
	}
	if inventory, err := s.Inventory(t.Context()); err != nil || inventory.Unspecified != 1 {
		t.Errorf("the shop has %d animals, %v; want 1", inventory.Unspecified, err)
	}
}

// A client that gets no response repeats its request, also to another node. The write happens once.
func TestRepeatedRequestOnTwoNodesIsDoneOnce(t *testing.T) {
	t.Parallel()
	for engine, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{Postgres: postgres})
			other, err := s.Node(t.Context(), shop.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"a", "b", "c", "d", "e"} {
				var done atomic.Int64
				var requests sync.WaitGroup
				for i := range 6 {
					requests.Go(func() {
						node := []*shop.Service{s.Service, other}[i%2]
						_, err := node.CreatePet(shop.WithIdempotency(t.Context(), onceRequest(key)), shop.NewPet{Name: key, CategoryID: 1})
						if _, replay := errors.AsType[*shop.ReplayError](err); err == nil {
							done.Add(1)
						} else if !replay {
							t.Errorf("%s: %v", key, err)
						}
					})
				}
				requests.Wait()
				if n := done.Load(); n != 1 {
					t.Errorf("%s was done %d times, want once", key, n)
				}
			}
			if inventory, err := s.Inventory(t.Context()); err != nil || inventory.Unspecified != 5 {
				t.Errorf("the shop has %d animals, %v; want 5", inventory.Unspecified, err)
			}
		})
	}
}
