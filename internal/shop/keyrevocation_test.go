package shop_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// slowStore is a store whose reads take a while to return what they have read.
type slowStore struct {
	shop.Store
	delay time.Duration
}

func (s *slowStore) Read(ctx context.Context, fn func(shop.ReadTx) error) error {
	err := s.Store.Read(ctx, fn)
	time.Sleep(s.delay)
	return err
}

// A key that is revoked on another node is refused within a second of its revocation, even if this node read
// the key just before and was slow to do so.
func TestKeyRevokedDuringASlowLookUpIsRefusedWithinASecond(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shoptest.TempDir(t), "test.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := shoptest.OpenAt(t.Context(), path, shop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Store.Close() // closed inside the synctest bubble, because the store's goroutines must end there
		slow := &slowStore{Store: s.Store}
		node, err := shop.Open(t.Context(), slow, shop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		key := s.Key(t, shop.PetsRead)
		slow.delay = 900 * time.Millisecond
		read := make(chan error)
		go func() {
			_, err := node.Authenticate(t.Context(), key.Secret)
			read <- err
		}()
		synctest.Wait() // the node has read the key, but does not know it yet
		if err := s.RevokeKey(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		revoked := time.Now()
		if err := <-read; err != nil {
			t.Fatalf("a key that was read before its revocation: %v", err)
		}
		slow.delay = 0
		time.Sleep(time.Second - time.Since(revoked))
		_, err = node.Authenticate(t.Context(), key.Secret)
		wantError(t, err, shop.InvalidAPIKey)
	})
}
