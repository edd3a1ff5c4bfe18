package sqlstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"animalstore/internal/shop"
)

// maxConstraintViolations is the number of constraint violations in one write that are treated as
// conflicts. Any further violation is treated as a bug.
const maxConstraintViolations = 10

// retry calls fn until it succeeds, fails permanently, or the retry budget is spent. After the context caller
// is done, retry starts no further attempt. Each attempt gets a context that is derived from ctx and expires
// when the budget is spent.
func (p *postgresEngine) retry(caller, ctx context.Context, fn func(context.Context) error) error {
	if p.closed.Load() {
		return shop.UnavailableError(errClosed)
	}
	limited, cancel := context.WithTimeout(ctx, max(p.retryBudget, shop.RetryBudget(ctx)))
	defer cancel()
	violations := 0
	var lastErr error
	release := func() {}
	defer func() { release() }()
	for attempt := 0; ; attempt++ {
		err := interruptedError(limited, fn(limited))
		if lastErr != nil && limited.Err() != nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errUnknown) {
			// Return the earlier error, because err only says that the budget is spent.
			return lastErr
		}
		lastErr = err
		if isConstraintViolation(err) {
			violations++
		}
		if err == nil || !isRetryable(err) || violations > maxConstraintViolations || caller.Err() != nil {
			return err
		}
		if !backOff(limited, attempt) {
			return err
		}
		p.metrics.retries.WithLabelValues(string(classify(err))).Inc()
		if attempt == 0 && isConflict(err) {
			release = p.serializeRetries(limited)
		}
	}
}

// serializeRetries waits until no other write on this node is being retried after a conflict. It returns a
// function that lets the next write proceed. PostgreSQL detects conflicts by page, so even writes that share
// no row may conflict. If all of these writes were retried at the same time, they would conflict again. A
// write that has waited for a fifth of the budget proceeds anyway, because the write that it is waiting for
// may itself be blocked.
func (p *postgresEngine) serializeRetries(ctx context.Context) (release func()) {
	limited, cancel := context.WithTimeout(ctx, p.retryBudget/5)
	defer cancel()
	select {
	case p.retrySlot <- struct{}{}:
		return func() { <-p.retrySlot }
	case <-limited.Done():
		return func() {}
	}
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
