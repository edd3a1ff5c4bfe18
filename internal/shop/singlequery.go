package shop

import "context"

type singleQueryKey struct{}

// WithSingleQuery returns a context for a read that probably executes only one query. A store on a server can
// then save the round trips that begin and end a transaction.
func WithSingleQuery(ctx context.Context) context.Context {
	return context.WithValue(ctx, singleQueryKey{}, true)
}

// IsSingleQuery reports whether the context comes from WithSingleQuery.
func IsSingleQuery(ctx context.Context) bool {
	single, _ := ctx.Value(singleQueryKey{}).(bool)
	return single
}
