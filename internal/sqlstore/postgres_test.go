package sqlstore

import (
	"context"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/storetest"
)

func TestPostgresIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) shop.Store { return open(t, newDatabase(t), Options{}) })
}

func TestRetryBudgetIsTheOptionOrFiveSeconds(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	for given, want := range map[time.Duration]time.Duration{0: pgRetryBudget, time.Hour: time.Hour} {
		store, err := Open(t.Context(), database, Options{RetryBudget: given})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if got := store.engine.(*postgresEngine).retryBudget; got != want {
			t.Errorf("with the option %v, the retry budget is %v", given, got)
		}
	}
}

// A request may increase the retry budget for its own reads and writes.
func TestWriteMayHaveALargerBudget(t *testing.T) {
	t.Parallel()
	store := open(t, newDatabase(t), Options{})
	store.engine.(*postgresEngine).retryBudget = 200 * time.Millisecond
	slow := func(ctx context.Context) error {
		return store.Write(ctx, func(wtx shop.WriteTx) error { return wtx.(*tx).exec("SELECT pg_sleep(0.4)") })
	}
	if err := slow(t.Context()); err == nil || shop.AsError(err).Code != shop.Unavailable {
		t.Errorf("with the budget of the store: %v", err)
	}
	if err := slow(shop.WithRetryBudget(t.Context(), time.Hour)); err != nil {
		t.Errorf("with a budget of its own: %v", err)
	}
}
