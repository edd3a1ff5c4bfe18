package shop

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/internal/admission"
)

// heavyHarness runs heavy reads. Each read keeps its slot until the test ends the read.
type heavyHarness struct {
	*testing.T
	reads *heavyReads
	mu    sync.Mutex
	slots map[string][]admission.Slot // the slots of the running reads, by key
	log   []string                    // the key of each read that got a slot, and the error code of each read that got none
}

// start starts a read and waits until the read has a slot, is in the queue or was refused.
func (h *heavyHarness) start(ctx context.Context, key string, budget time.Duration) {
	go func() {
		slot, err := h.reads.acquire(ctx, key, budget)
		h.mu.Lock()
		defer h.mu.Unlock()
		if err != nil {
			key = string(AsError(err).Code)
		} else {
			h.slots[key] = append(h.slots[key], slot)
		}
		h.log = append(h.log, key)
	}()
	synctest.Wait()
}

// end ends a read that has a slot and waits until the next read has taken the slot.
func (h *heavyHarness) end(key string) {
	h.mu.Lock()
	slot := h.slots[key][0]
	h.slots[key] = h.slots[key][1:]
	h.mu.Unlock()
	slot.Release()
	synctest.Wait()
}

// takeLog returns the log since the last call.
func (h *heavyHarness) takeLog() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	log := h.log
	h.log = nil
	return log
}

// wantLog checks which reads got a slot or an error since the last call.
func (h *heavyHarness) wantLog(want string) {
	h.Helper()
	if got := strings.Join(h.takeLog(), " "); got != want {
		h.Errorf("got %q, want %q", got, want)
	}
}

func withHeavyReads(t *testing.T, test func(*heavyHarness)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &heavyHarness{T: t, reads: newHeavyReads(ReadLimits{Heavy: 4, Timeout: 5 * time.Second}), slots: map[string][]admission.Slot{}}
		test(h)
		if running, waiting := h.reads.Counts(); running+waiting != 0 {
			t.Errorf("%d reads are still running and %d waiting", running, waiting)
		}
	})
}

// Searches and printed lists count as heavy reads. All other lists do not.
func TestSearchesAndLongListsAreHeavy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		query string
		limit int
		want  bool
	}{{"", 100, false}, {"", 101, true}, {"rex", 1, true}} {
		page := PageRequest{Limit: test.limit}
		pets, orders := PetList{PetFilter: PetFilter{Query: test.query}, PageRequest: page}, OrderList{Query: test.query, PageRequest: page}
		if pets.isHeavy() != test.want || orders.isHeavy() != test.want {
			t.Errorf("%+v: got %v and %v", test, pets.isHeavy(), orders.isHeavy())
		}
	}
}

// One key gets at most half of the slots. Keys with waiting reads take turns, so a key that sends many reads delays
// only its own reads.
func TestHeavyReadsTakeTurnsByKey(t *testing.T) {
	withHeavyReads(t, func(h *heavyHarness) {
		for range 5 {
			h.start(h.Context(), "greedy", 0)
		}
		h.wantLog("greedy greedy")
		for _, key := range []string{"b", "c", "d", "b", "d"} {
			h.start(h.Context(), key, 0)
		}
		h.wantLog("b c")
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

// A heavy read that gets no slot in time is refused, and so is one that finds the queue full. A read whose
// client has gone leaves the queue.
func TestHeavyReadWithoutAPlaceIsRefused(t *testing.T) {
	withHeavyReads(t, func(h *heavyHarness) {
		for _, key := range []string{"a", "a", "b", "b"} {
			h.start(h.Context(), key, 0)
		}
		h.wantLog("a a b b")
		h.start(h.Context(), "a", 0)
		gone, cancel := context.WithCancel(h.Context())
		h.start(gone, "c", 0)
		h.start(h.Context(), "d", time.Hour)
		cancel()
		synctest.Wait()
		h.wantLog("unavailable")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		h.wantLog("unavailable")
		queue := admission.HeavyReads.Limit()
		for range queue.KeyQueue + 1 {
			h.start(h.Context(), "a", time.Hour)
		}
		h.wantLog("rate_limited")
		for i := range queue.Queue - queue.KeyQueue {
			h.start(h.Context(), strings.Repeat("x", 1+i/queue.KeyQueue), time.Hour)
		}
		h.wantLog("unavailable")
		if n := h.reads.refused.Load(); n != 3 {
			h.Errorf("%d reads were refused, want 3, without the one whose client has gone", n)
		}
		for running := []string{"a", "a", "b", "b"}; len(running) > 0; {
			h.end(running[0])
			running = append(running[1:], h.takeLog()...)
		}
	})
}
