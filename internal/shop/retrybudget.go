package shop

import (
	"context"
	"time"
)

type retryBudgetKey struct{}

// WithRetryBudget returns a context under which a read or a write may take so long, where that is longer than usual.
func WithRetryBudget(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, retryBudgetKey{}, d)
}

// RetryBudget returns what WithPatience said, or 0.
func RetryBudget(ctx context.Context) time.Duration {
	d, _ := ctx.Value(retryBudgetKey{}).(time.Duration)
	return d
}
