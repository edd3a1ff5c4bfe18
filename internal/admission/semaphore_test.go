package admission

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// harness runs operations. Each operation keeps its slot until the test ends the operation.
type harness struct {
	*testing.T
	semaphore *Semaphore
	mu        sync.Mutex
	slots     map[string][]Slot // the slots of the running operations, by key
	log       []string          // the key of each operation that runs, and why the others do not run
}

// run runs a test with a semaphore. At the end, it checks that the semaphore has forgotten all operations.
func run(t *testing.T, limit Limit, test func(*harness)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{T: t, semaphore: NewSemaphore(limit), slots: map[string][]Slot{}}
		test(h)
		for key := range h.slots {
			for len(h.slots[key]) > 0 {
				h.end(key)
			}
		}
		time.Sleep(time.Hour) // longer than any pause
		synctest.Wait()
		if s := h.semaphore; s.running+len(s.runningBy)+s.waiting.n+len(s.waiting.byKey)+len(s.waiting.keys) != 0 {
			t.Errorf("the semaphore still has operations: %+v", s)
		}
	})
}

// start starts an operation for each of the keys, one after another, and waits until each has a slot, is in the queue or
// was refused.
func (h *harness) start(ctx context.Context, keys ...string) {
	for _, key := range keys {
		go func() {
			slot, err := h.semaphore.Acquire(ctx, key)
			h.mu.Lock()
			defer h.mu.Unlock()
			h.log = append(h.log, outcome(key, err))
			if err == nil {
				h.slots[key] = append(h.slots[key], slot)
			}
		}()
		synctest.Wait()
	}
}

// outcome returns the key of an operation that runs, or why the operation does not run.
func outcome(key string, err error) string {
	refusal, ok := errors.AsType[*Refusal](err)
	switch {
	case err == nil:
		return key
	case !ok:
		return err.Error()
	case refusal.ByKey:
		return key + ":share"
	case refusal.TimedOut:
		return key + ":late"
	}
	return key + ":total"
}

// end ends the oldest operation of a key.
func (h *harness) end(key string) {
	h.mu.Lock()
	slot := h.slots[key][0]
	h.slots[key] = h.slots[key][1:]
	h.mu.Unlock()
	slot.Release()
	slot.Release() // a second call has no effect
	synctest.Wait()
}

// takeLog returns the log since the last call.
func (h *harness) takeLog() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	log := h.log
	h.log = nil
	return log
}

func (h *harness) want(want string) {
	h.Helper()
	if got := strings.Join(h.takeLog(), " "); got != want {
		h.Errorf("got %q, want %q", got, want)
	}
}

// Without a queue, an operation beyond a limit is refused at once. One key cannot use up the whole limit.
func TestKeyLimitLeavesRoomForOtherKeys(t *testing.T) {
	run(t, Limit{Total: 3, PerKey: 2}, func(h *harness) {
		h.start(h.Context(), "greedy", "greedy", "greedy", "modest", "third")
		h.want("greedy greedy greedy:share modest third:total")
		h.end("greedy")
		h.start(h.Context(), "third", "modest")
		h.want("third modest:total")
	})
}

// A key has no share if the limit gives it none.
func TestLimitWithoutShares(t *testing.T) {
	run(t, Limit{Total: 2}, func(h *harness) {
		h.start(h.Context(), "", "", "")
		h.want("  :total")
	})
}

// Operations of different weights share a limit. An operation that does not fit is refused.
func TestWeights(t *testing.T) {
	run(t, Limit{Total: 100, PerKey: 60}, func(h *harness) {
		for _, c := range []struct {
			key  string
			n    int
			want string
		}{{"a", 60, "a"}, {"a", 1, "a:share"}, {"b", 41, "b:total"}, {"b", 40, "b"}} {
			slot, err := h.semaphore.AcquireN(c.key, c.n)
			if got := outcome(c.key, err); got != c.want {
				h.Errorf("%+v: got %s", c, got)
			}
			h.slots[c.key] = append(h.slots[c.key], slot)
		}
		h.slots["b"][0].Extend(1) // an operation that runs is not refused
		for _, key := range []string{"a", "c"} {
			if _, err := h.semaphore.AcquireN(key, 1); err == nil {
				h.Errorf("%s got a slot", key)
			}
		}
	})
}

// Keys with waiting operations take turns, so a key with many operations delays only its own.
func TestWaitingKeysTakeTurns(t *testing.T) {
	run(t, Limit{Total: 4, PerKey: 2, Queue: Unlimited, KeyQueue: Unlimited}, func(h *harness) {
		h.start(h.Context(), "greedy", "greedy", "greedy", "greedy", "greedy")
		h.want("greedy greedy")
		h.start(h.Context(), "b", "c", "d", "b", "d")
		h.want("b c")
		running := []string{"greedy", "greedy", "b", "c"}
		var order []string
		for len(running) > 0 {
			h.end(running[0])
			next := h.takeLog()
			running, order = append(running[1:], next...), append(order, next...)
		}
		if want := []string{"greedy", "d", "b", "greedy", "d", "greedy"}; !slices.Equal(order, want) {
			h.Errorf("the order was %v, want %v", order, want)
		}
	})
}

// A key with many operations pauses between them if the limit says so. Other keys do not wait for the pause.
func TestKeysTakeTurns(t *testing.T) {
	run(t, Limit{Total: 2, PerKey: 1, Queue: Unlimited, KeyQueue: Unlimited, Pause: 3}, func(h *harness) {
		h.start(h.Context(), "greedy", "greedy", "greedy", "modest", "third")
		h.want("greedy modest")
		h.end("greedy")
		h.want("third") // the third key goes first, although the greedy key has been waiting for longer
		h.end("modest")
		h.want("greedy")
		time.Sleep(time.Second)
		h.end("greedy")
		time.Sleep(3*time.Second - 1)
		h.want("")
		time.Sleep(time.Nanosecond)
		h.want("greedy")
		h.end("greedy")
		h.start(h.Context(), "greedy") // there is no pause if no operation has waited
		h.want("greedy")
	})
}

// The queue is limited, in total and for each key. An operation leaves the queue if its context ends, or if it has waited
// for too long.
func TestQueueIsLimited(t *testing.T) {
	run(t, Limit{Total: 1, PerKey: 1, Queue: 3, KeyQueue: 2, Wait: time.Second}, func(h *harness) {
		ctx, cancel := context.WithCancel(h.Context())
		h.start(h.Context(), "a", "a")
		h.start(ctx, "a")
		h.start(h.Context(), "a", "b", "b", "c")
		h.want("a a:share b:total c:total")
		cancel()
		h.want("context canceled")
		time.Sleep(time.Second / 2)
		h.start(h.Context(), "c")
		h.end("a")
		h.want("a")
		time.Sleep(time.Second / 2)
		h.want("b:late")
		h.end("a")
		h.want("c")
	})
}

// Operations of different weights wait for room in the order of their arrival. One that is heavier than the whole limit
// runs alone, and lighter ones do not overtake it.
func TestHeavyOperationsWaitForRoom(t *testing.T) {
	run(t, Limit{Total: 100, Queue: Unlimited, KeyQueue: Unlimited}, func(h *harness) {
		await := func(ctx context.Context, key string, n int) {
			go func() {
				slot, err := h.semaphore.AwaitN(ctx, key, n)
				h.mu.Lock()
				defer h.mu.Unlock()
				h.log = append(h.log, outcome(key, err))
				if err == nil {
					h.slots[key] = append(h.slots[key], slot)
				}
			}()
			synctest.Wait()
		}
		wantBoth := func(want ...string) { // in any order
			if got := h.takeLog(); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		await(h.Context(), "a", 60)
		await(h.Context(), "b", 40)
		await(h.Context(), "whole", 200)
		await(h.Context(), "c", 10)
		await(h.Context(), "d", 90)
		h.want("a b")
		h.end("b")
		h.want("") // there is room for c, but it came later
		h.end("a")
		h.want("whole")
		await(h.Context(), "e", 1)
		h.want("")
		h.end("whole")
		wantBoth("c", "d") // one slot made room for two operations
		ctx, cancel := context.WithCancel(h.Context())
		await(ctx, "whole", 200)
		h.end("c")
		h.end("d")
		h.want("e")
		await(h.Context(), "f", 1)
		h.want("")
		cancel() // nobody waits for an operation that has given up
		wantBoth("context canceled", "f")
	})
}
