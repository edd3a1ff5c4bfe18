package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/sqlstore/engine"
)

// maxConstraintViolations is the number of constraint violations in one write that are treated as
// conflicts. Any further violation is treated as a bug.
const maxConstraintViolations = 10

// maxSlotExponent limits the pauses between the attempts of the write in the retry slot to 2⁴ = 16 ms. This write may lose to
// first attempts of other writes again and again. Meanwhile, all other writes that have had a conflict wait for the
// slot.
const maxSlotExponent = 4

// retry calls fn until it succeeds, fails permanently, or the time in o is over. Once caller is done, retry starts no
// further attempt. Each attempt gets a context that is derived from ctx and expires when the time is over.
func (e *Engine) retry(caller, ctx context.Context, o engine.WriteOptions, fn func(context.Context) error) error {
	if e.closed.Load() {
		return engine.ClosedError()
	}
	limited, cancel := context.WithTimeout(ctx, max(e.timeout, o.Timeout))
	defer cancel()
	violations := 0
	var lastErr error
	var slot admission.Slot
	defer func() { slot.Release() }()
	gaveUpSlot := false
	for attempt := 0; ; attempt++ {
		err := interruptedError(limited, fn(limited))
		if lastErr != nil && limited.Err() != nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errUnknownOutcome) {
			// Return the earlier error, because err only says that the time is over.
			return lastErr
		}
		lastErr = err
		if isConstraintViolation(err) {
			violations++
		}
		if err == nil || !isRetryable(err) || violations > maxConstraintViolations || caller.Err() != nil {
			return err
		}
		exponent := attempt
		if slot.Held() {
			exponent = min(attempt, maxSlotExponent) // other writes are waiting for the slot
		}
		if !backOff(limited, exponent) {
			return err
		}
		e.countRetry(err)
		switch {
		case !isLostRace(err):
			slot.Release() // the next attempt may wait for a lock, a slot or the server, and must not hold up other writes
		case !slot.Held() && !gaveUpSlot:
			slot = e.serializeRetries(limited, o.Key)
			gaveUpSlot = !slot.Held()
		}
	}
}

func (e *Engine) countRetry(err error) {
	e.options.Metrics.Retries.WithLabelValues(string(classify(err))).Inc()
}

// serializeRetries waits until no other write on this node is being retried after a conflict, and takes the retry
// slot. PostgreSQL detects conflicts by page, so even writes that share no row may conflict. If all of these writes
// were retried at the same time, they would conflict again. A write that has waited for a fifth of the usual time proceeds
// without the slot, because the write that it is waiting for may itself be blocked. Keys take turns, so that a key
// with many conflicts delays only its own writes.
func (e *Engine) serializeRetries(ctx context.Context, key string) admission.Slot {
	limited, cancel := context.WithTimeout(ctx, e.timeout/5)
	defer cancel()
	slot, _ := e.retrySlot.Acquire(limited, key)
	return slot
}

// newRetrySlot returns the retry slot. Writes that wait for it need no limit, because the time of each write ends.
func newRetrySlot() *admission.Semaphore {
	return admission.NewSemaphore(admission.ConflictRetries.Limit())
}

// backOff sleeps for a random time before the next attempt. The maximum sleep time doubles with every
// attempt, up to 200 ms. backOff returns false if the context ends first. If the context's deadline is too
// close for the whole sleep, backOff returns false immediately.
func backOff(ctx context.Context, attempt int) bool {
	wait := time.Duration(rand.Int64N(int64(min(time.Millisecond<<min(attempt, 10), 200*time.Millisecond)))) + time.Millisecond
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return false
	}
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
