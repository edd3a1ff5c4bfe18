package shop_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// check ends the test if a call failed.
func check(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns the result of a call and ends the test if the call failed.
func must[T any](result T, err error) func(rapid.TB) T {
	return func(t rapid.TB) T {
		t.Helper()
		check(t, err)
		return result
	}
}

// wantCode checks that a call failed with the given code, or succeeded if the code is "".
func wantCode(t rapid.TB, err error, want shop.Code) {
	t.Helper()
	if err == nil && want != "" || err != nil && shop.AsError(err).Code != want {
		t.Fatalf("got %v, want the error code %q", err, want)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// inVirtualTime runs a test in virtual time with a shop of its own.
func inVirtualTime(t *testing.T, o shop.Options, test func(t *testing.T, s *shoptest.Shop)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, shoptest.Open(t, shoptest.Options{Options: o})) })
}

// onBothEngines runs a test with three nodes on each engine, because the engines detect conflicts between
// transactions in different ways.
func onBothEngines(t *testing.T, test func(t *testing.T, s *shoptest.Shop, nodes []*shop.Service)) {
	t.Parallel()
	for engine, postgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := shoptest.Open(t, shoptest.Options{Postgres: postgres})
			test(t, s, nodes(t, s, shop.Options{}))
		})
	}
}

// nodes returns the shop's service and two more services on the same store.
func nodes(t *testing.T, s *shoptest.Shop, o shop.Options) []*shop.Service {
	t.Helper()
	return []*shop.Service{s.Service, must(s.Node(t.Context(), o))(t), must(s.Node(t.Context(), o))(t)}
}

// atOnce runs n calls at the same time and waits for them.
func atOnce(n int, call func(i int)) {
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { call(i) })
	}
	calls.Wait()
}

// runJobs runs the shop's background jobs until stop is called. It returns after the jobs have started.
func runJobs(t *testing.T, s *shop.Service) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.RunJobs(ctx, func(err error) { t.Error(err) }) })
	time.Sleep(time.Second)
	return func() { cancel(); wg.Wait() }
}

// addOnce adds an animal under an idempotency key. The key also serves as the body of the stored response.
func addOnce(t *testing.T, s *shop.Service, key string, fingerprint ...byte) error {
	_, err := s.CreatePet(t.Context(), withKey(key, fingerprint...), shop.NewPet{Name: "Once", CategoryID: 1})
	return err
}

// withKey returns the caller of a write under an idempotency key. The key also serves as the body of the stored response.
func withKey(key string, fingerprint ...byte) shop.Caller {
	request := &shop.IdempotentRequest{Principal: 1, Key: key, Response: func(any) shop.StoredResponse {
		return shop.StoredResponse{Status: 201, Body: []byte(key)}
	}}
	copy(request.Fingerprint[:], fingerprint)
	return shop.Caller{Request: request}
}

// wantReplay sends a write under an idempotency key. If want is true, the write must get the stored response. If want
// is false, the write must be executed.
func wantReplay(t *testing.T, s *shop.Service, key string, want bool) {
	t.Helper()
	err := addOnce(t, s, key)
	replay, replayed := errors.AsType[*shop.ReplayError](err)
	if replayed != want || replayed && string(replay.Body) != key || !replayed && err != nil {
		t.Fatalf("the write got %+v, want a stored response: %v", err, want)
	}
}

// placeHold adds an available animal and orders it.
func placeHold(t *testing.T, s *shoptest.Shop) shop.Order {
	t.Helper()
	pet := s.AddPet(t, "Rex", 1, shop.Available)
	return must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: pet.ID}))(t)
}

// failWrites lets the given number of writes succeed and makes all later writes fail.
func failWrites(s *shoptest.Shop, except int) {
	s.Store.FailWith(func(write bool) error {
		if write {
			if except--; except < 0 {
				return shop.UnavailableError(errors.New("read-only"))
			}
		}
		return nil
	})
}

// hookedStore is a store that calls functions after each read and before each publication.
type hookedStore struct {
	shop.Store
	afterRead, beforePublish func()
}

func hook(store shop.Store) *hookedStore { return &hookedStore{store, func() {}, func() {}} }

func (s *hookedStore) Read(ctx context.Context, r shop.Reading, fn func(shop.ReadTx) error) error {
	defer func() { s.afterRead() }()
	return s.Store.Read(ctx, r, fn)
}

func (s *hookedStore) Publish(ctx context.Context) error {
	s.beforePublish()
	return s.Store.Publish(ctx)
}
