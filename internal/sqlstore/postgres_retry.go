package sqlstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"animalstore/internal/shop"
)

// retry runs fn again while what it failed of may pass, for a bounded time and as long as its caller waits for it.
func (p *postgresEngine) retry(caller, ctx context.Context, fn func(context.Context) error) error {
	if p.closed.Load() {
		return shop.UnavailableError(errClosed)
	}
	limit, cancel := context.WithTimeout(ctx, max(p.retryBudget, shop.PatienceOf(ctx)))
	defer cancel()
	violations := 0
	var before error // what it failed of the last time
	leave := func() {}
	defer func() { leave() }()
	for try := 0; ; try++ {
		err := fn(limit)
		if before != nil && limit.Err() != nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errUnknown) {
			return before // it says why, where this one says that the time is over
		}
		before = err
		if isConstraintViolation(err) {
			violations++
		}
		if err == nil || !isRetryable(err) || violations > maxConstraintViolations || caller.Err() != nil || !backOff(limit, try) {
			return err
		}
		p.metrics.retries.WithLabelValues(string(troubleOf(err))).Inc()
		if try == 0 && isConflict(err) {
			leave = p.serializeRetries(limit)
		}
	}
}

// serializeRetries waits until no other write of this node runs again after a conflict. All at once they would meet each other
// anew, and again: PostgreSQL sees conflicts by the page, so that neighbours meet who share no row. Whoever has waited for a
// fifth of its patience goes on all the same: the one before it may have to wait for something else.
func (p *postgresEngine) serializeRetries(ctx context.Context) (leave func()) {
	limit, cancel := context.WithTimeout(ctx, p.retryBudget/5)
	defer cancel()
	select {
	case p.retrySlot <- struct{}{}:
		return func() { <-p.retrySlot }
	case <-limit.Done():
		return func() {}
	}
}

// backOff waits before the next try, a random while that grows; it returns false where there is no time for one.
func backOff(ctx context.Context, try int) bool {
	wait := time.Duration(rand.Int64N(int64(min(time.Millisecond<<min(try, 10), 200*time.Millisecond)))) + time.Millisecond
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return false
	}
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
