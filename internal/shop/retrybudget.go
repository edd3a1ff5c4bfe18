package shop

import (
	"context"
	"time"
)

type retryBudgetKey struct{}

// WithRetryBudget returns a context that lets the store run and retry a read or a write for the duration d. It
// has no effect if d is shorter than the store's own limit.
func WithRetryBudget(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, retryBudgetKey{}, d)
}

// RetryBudget returns the duration set by WithRetryBudget, or 0 if none was set.
func RetryBudget(ctx context.Context) time.Duration {
	d, _ := ctx.Value(retryBudgetKey{}).(time.Duration)
	return d
}
