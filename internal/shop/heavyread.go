package shop

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"animalstore/internal/admission"
)

// ReadLimits tells a Service how many heavy reads its store may run at the same time and how long a read may take.
type ReadLimits struct {
	// Heavy is how many heavy reads may run at the same time. The store has more connections than that, so
	// that other reads never wait for heavy ones.
	Heavy int
	// Timeout is how long a read may take before the store interrupts it.
	Timeout time.Duration
}

// maxQuickRows is the number of rows up to which a list is not heavy. Only printed lists have more.
const maxQuickRows = 100

// isHeavy reports whether a list counts as a heavy read. A search may examine many animals
// that it does not return. All other filters are answered by an index, but a long list needs time, too.
func (l PetList) isHeavy() bool { return l.Query != "" || l.Limit > maxQuickRows }

// isHeavy reports whether a list counts as a heavy read, because it is a search or is long, or because it combines the date
// of pick-up with other conditions, for which there is no index.
func (l OrderList) isHeavy() bool {
	return l.Query != "" || l.Limit > maxQuickRows || l.PickupDate != "" && (l.Status != "" || l.PetID != nil)
}

// isHeavy reports whether a page counts as a heavy read, which is the case if no index finds its events.
func (f EventFilter) isHeavy() bool { return f.UsesSummaries() }

// acquireHeavy waits for a slot if the read is heavy. The caller must release the slot after the read, which does nothing
// if the read is not heavy. acquireHeavy fails with unavailable or rate_limited if the read gets no slot in time.
func (s *Service) acquireHeavy(ctx context.Context, r Reading) (slot admission.Slot, err error) {
	if !r.Heavy {
		return slot, nil
	}
	return s.heavyReads.acquire(ctx, r.By.Actor(), r.Budget)
}

// heavyReads limits how many heavy reads run at the same time. One API key gets at most half of the slots.
type heavyReads struct {
	*admission.Semaphore
	patience time.Duration
	refused  atomic.Int64
}

// newHeavyReads returns the limit for heavy reads. A read may wait for a slot for as long as it may run.
func newHeavyReads(limits ReadLimits) *heavyReads {
	semaphore := admission.NewSemaphore(admission.HeavyReads.Limit().Sized(limits.Heavy))
	return &heavyReads{Semaphore: semaphore, patience: limits.Timeout}
}

// acquire waits for a slot, for as long as a read may take or for the budget, whichever is longer. If it returns nil,
// the caller must release the slot. It fails with unavailable if the context ends, if no slot becomes free in time, or
// if too many reads are waiting. It fails with rate_limited if too many reads of this key are waiting.
func (l *heavyReads) acquire(ctx context.Context, key string, budget time.Duration) (admission.Slot, error) {
	limited, cancel := context.WithTimeout(ctx, max(l.patience, budget))
	defer cancel()
	slot, err := l.Acquire(limited, key)
	switch {
	case err == nil:
		return slot, nil
	case ctx.Err() != nil:
		return slot, UnavailableError(ctx.Err())
	}
	l.refused.Add(1)
	if refusal, ok := errors.AsType[*admission.Refusal](err); ok && refusal.ByKey {
		return slot, Errorf(RateLimited,
			"This API key has too many searches, exports and counts waiting; its limit is %d per node.", refusal.Limit.KeyQueue)
	}
	return slot, Errorf(Unavailable, "Too many searches, exports and counts are running; try again shortly.")
}

// HeavyReads returns how many heavy reads are running, how many are waiting for a slot, and how many have been
// refused because they got no slot.
func (s *Service) HeavyReads() (running, waiting int, refused int64) {
	running, waiting = s.heavyReads.Counts()
	return running, waiting, s.heavyReads.refused.Load()
}
