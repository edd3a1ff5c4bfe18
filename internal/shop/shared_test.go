package shop

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// Thirty concurrent calls cause only two computations: the one that the first call starts, and one for all calls made
// since then. A caller that goes away does not stop a computation that others are waiting for.
func TestConcurrentCallsShareAComputation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShared[int]()
		computed, gate := 0, make(chan struct{})
		get := func(ctx context.Context, valid bool) (int, error) {
			return r.get(ctx, func(int) bool { return valid }, func(ctx context.Context) (int, error) {
				computed++
				<-gate
				if computed == 3 {
					return 0, errors.New("on purpose")
				}
				return computed, ctx.Err()
			})
		}
		first, cancelFirst := context.WithCancel(t.Context())
		waiting, cancelWaiting := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		var mu sync.Mutex
		results := map[int]int{}
		call := func(ctx context.Context) {
			calls.Go(func() {
				value, err := get(ctx, false)
				if (err != nil) != (ctx == waiting) {
					t.Errorf("got %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				results[value]++
			})
			synctest.Wait()
		}
		call(first)
		call(waiting)
		for range 28 {
			call(t.Context())
		}
		cancelFirst()
		cancelWaiting()
		synctest.Wait()
		close(gate)
		calls.Wait()
		if computed != 2 || results[1] != 1 || results[2] != 28 || results[0] != 1 {
			t.Errorf("%d computations, with the results %v", computed, results)
		}
		if value, err := get(t.Context(), true); value != 2 || err != nil {
			t.Errorf("a valid result was not used again: %d, %v", value, err)
		}
		if _, err := get(t.Context(), false); err == nil {
			t.Error("a result that is not valid was used again")
		}
		if value, err := get(t.Context(), true); value != 4 || err != nil {
			t.Errorf("an error was used again: %d, %v", value, err)
		}
	})
}
