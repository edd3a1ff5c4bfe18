package shop

import (
	"context"
	"time"
)

type patienceKey struct{}

// WithPatience returns a context under which a read or a write may take so long, where that is longer than usual.
func WithPatience(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, d)
}

// PatienceOf returns what WithPatience said, or 0.
func PatienceOf(ctx context.Context) time.Duration {
	d, _ := ctx.Value(patienceKey{}).(time.Duration)
	return d
}
