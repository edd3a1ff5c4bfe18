package shop_test

import (
	"errors"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// The stored response commits together with the change. A node may fail between two transactions.
func TestStoredResponseCommitsWithTheChange(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	writes := 0
	s.Store.FailWith(func(write bool) error {
		if write {
			if writes++; writes > 1 {
				return shop.UnavailableError(errors.New("the node failed after its first transaction"))
			}
		}
		return nil
	})
	request := &shop.IdempotentRequest{Key: "k", Response: func(any) shop.StoredResponse { return shop.StoredResponse{Status: 201} }}
	if _, err := s.CreateCategory(shop.WithIdempotency(t.Context(), request), "Cats"); err != nil {
		t.Fatalf("the change needs more than one transaction: %v", err)
	}
	if stored, found, err := s.FindStoredResponse(t.Context(), request); !found || err != nil || stored.Status != 201 {
		t.Errorf("got the stored response %v, %v, %v, want one with the status 201", stored, found, err)
	}
}
