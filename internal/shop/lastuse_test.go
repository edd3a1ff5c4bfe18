package shop_test

import (
	"errors"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A use that could not be saved is saved later. A node shows the latest use that it knows of.
func TestLastUseSurvivesAFailedSave(t *testing.T) {
	inVirtualTime(t, shop.Options{}, func(t *testing.T, s *shoptest.Shop) {
		keys := []shop.IssuedKey{s.Key(t, shop.Admin), s.Key(t, shop.Admin)}
		other := must(s.Node(t.Context(), shop.Options{}))(t)
		use := func(i int) time.Time {
			time.Sleep(time.Second)
			must(s.Authenticate(t.Context(), keys[i].Secret))(t)
			return s.Now().UTC()
		}
		want := func(when string, node *shop.Service, at ...time.Time) {
			t.Helper()
			for i, key := range must(node.ListKeys(t.Context(), shop.PageRequest{Limit: 2}))(t).Items {
				equal(t, "the last use "+when, key.LastUsedAt, at[1-i]) // the newest key comes first
			}
		}
		use(0)
		second := use(1)
		s.Store.FailWith(func(write bool) error {
			if write {
				return errors.New("the disk is full")
			}
			return nil
		})
		if err := s.SaveLastUses(t.Context()); err == nil {
			t.Error("the failure is not reported")
		}
		first := use(0)
		s.Store.FailWith(nil)
		want("before it is saved", s.Service, first, second)
		check(t, s.SaveLastUses(t.Context()))
		want("after it was saved", other, first, second)
		first = use(0)
		want("after a further use", s.Service, first, second)
	})
}
