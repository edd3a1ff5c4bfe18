package singleflight

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// caller calls Join in goroutines and counts the results.
type caller struct {
	*testing.T
	group    Group[string, int]
	computed int
	gate     chan error // each computation waits for a value and fails with it
	calls    sync.WaitGroup
	mu       sync.Mutex
	results  map[int]int // how many calls returned each value; 0 stands for an error
}

func (c *caller) call(ctx context.Context, accept func(int) bool) {
	c.calls.Go(func() {
		computation, own, err := c.group.Join(ctx, "key", c.group.Begun(), accept)
		if own {
			c.mu.Lock()
			c.computed++
			computation.Value = c.computed
			c.mu.Unlock()
			computation.Err = <-c.gate
			c.group.End("key", computation)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil || computation.Err != nil {
			c.results[0]++
		} else {
			c.results[computation.Value]++
		}
	})
	synctest.Wait()
}

func (c *caller) want(computed int, results map[int]int) {
	c.Helper()
	close(c.gate)
	c.calls.Wait()
	if c.computed != computed {
		c.Errorf("%d computations, want %d", c.computed, computed)
	}
	for value, n := range results {
		if c.results[value] != n {
			c.Errorf("%d calls returned %d, want %d", c.results[value], value, n)
		}
	}
	if len(c.group.running) != 0 {
		c.Errorf("%d computations still count as running", len(c.group.running))
	}
}

func test(t *testing.T, run func(*caller)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { run(&caller{T: t, gate: make(chan error), results: map[int]int{}}) })
}

// Thirty concurrent calls cause only two computations: the one that the first call starts, and one for all calls made
// since then. A caller that goes away does not wait any longer.
func TestConcurrentCallsShareAComputation(t *testing.T) {
	test(t, func(c *caller) {
		ctx, cancel := context.WithCancel(c.Context())
		c.call(c.Context(), nil)
		c.call(ctx, nil)
		for range 28 {
			c.call(c.Context(), func(int) bool { return false })
		}
		cancel()
		synctest.Wait()
		c.want(2, map[int]int{0: 1, 1: 1, 2: 28})
	})
}

// A caller that accepts the result of a computation that was already running does not cause another one.
func TestCallerCanAcceptAnEarlierComputation(t *testing.T) {
	test(t, func(c *caller) {
		c.call(c.Context(), nil)
		c.call(c.Context(), func(value int) bool { return value == 1 })
		c.want(1, map[int]int{1: 2})
	})
}

// If a computation fails, all callers that arrived before it began get the error. Others cause another computation.
func TestErrorsAreSharedButNotAccepted(t *testing.T) {
	test(t, func(c *caller) {
		c.call(c.Context(), nil)
		c.call(c.Context(), nil)
		c.call(c.Context(), nil)
		c.gate <- nil
		synctest.Wait()
		c.call(c.Context(), func(int) bool { return true })
		c.gate <- errors.New("on purpose")
		synctest.Wait()
		c.want(3, map[int]int{0: 2, 1: 1, 3: 1})
	})
}

// A computation that panics does not block those who wait for it.
func TestPanicDoesNotBlockOthers(t *testing.T) {
	test(t, func(c *caller) {
		enter := make(chan struct{})
		c.calls.Go(func() {
			defer func() { recover() }()
			computation, _, _ := c.group.Join(c.Context(), "key", 0, nil)
			defer c.group.End("key", computation)
			<-enter
			panic("on purpose")
		})
		synctest.Wait()
		c.call(c.Context(), nil)
		close(enter)
		c.want(1, map[int]int{1: 1})
	})
}
