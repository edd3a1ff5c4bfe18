package shop

import "context"

// WriteSet declares the rows that a write reads and changes. A store can use it to run many writes in one
// transaction. If a write needs any other rows, the store must run it in a transaction of its own.
type WriteSet struct {
	Categories []int64 // the categories of the animals that the write adds
	Pets       []int64 // the animals for which the write places orders
	Orders     []int64 // the orders that the write changes; it may change their animals, too
	// Idempotency is the request whose record the write reads and stores, or nil.
	Idempotency *IdempotentRequest
}

type writeSetKey struct{}

// WithWriteSet returns a context for a write that reads and changes only the rows in set, and the record of
// its idempotent request.
func WithWriteSet(ctx context.Context, set WriteSet) context.Context {
	set.Idempotency = idempotentRequestOf(ctx)
	return context.WithValue(ctx, writeSetKey{}, &set)
}

// WriteSetOf returns the rows that the write with this context reads and changes, or nil if they are not
// known.
func WriteSetOf(ctx context.Context) *WriteSet {
	set, _ := ctx.Value(writeSetKey{}).(*WriteSet)
	return set
}
