package shop

import "context"

// WriteSet declares the rows that a write reads and changes. A store can use it to run many writes in one
// transaction. It must not give a write any other rows without running it in a transaction of its own.
type WriteSet struct {
	Categories []int64 // the categories whose existence the write depends on
	Pets       []int64 // the animals that the write reads or changes, with their open orders
	Orders     []int64 // the orders that the write reads or changes, with their animals
	NewPets    int     // the maximum number of animals that the write adds
	NewOrders  int     // the maximum number of orders that the write places
	// Idempotency is the request whose record the write reads and stores, or nil.
	Idempotency *IdempotentRequest
}

type writeSetKey struct{}

// withWriteSet returns a context for a write that reads and changes only the rows in set, and the record of
// its idempotent request.
func withWriteSet(ctx context.Context, set WriteSet) context.Context {
	set.Idempotency = idempotentRequestOf(ctx)
	return context.WithValue(ctx, writeSetKey{}, &set)
}

// WriteSetOf returns the rows that the write with this context reads and changes, or nil if they are not
// known.
func WriteSetOf(ctx context.Context) *WriteSet {
	set, _ := ctx.Value(writeSetKey{}).(*WriteSet)
	return set
}
