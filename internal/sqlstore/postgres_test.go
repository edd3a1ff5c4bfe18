package sqlstore

import (
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
	"animalstore/internal/storetest"
)

func TestPostgres(t *testing.T) {
	storetest.Run(t, func(t *testing.T) shop.Store { return open(t, pgtest.Shared(t).NewDatabase(t), Options{}) })
}

// Who says nothing about it waits no longer than a caller should.
func TestPatience(t *testing.T) {
	t.Parallel()
	database := pgtest.Shared(t).NewDatabase(t)
	for given, want := range map[time.Duration]time.Duration{0: pgPatience, time.Hour: time.Hour} {
		store, err := Open(t.Context(), database, Options{Patience: given})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if got := store.engine.(*postgresEngine).patience; got != want {
			t.Errorf("told %v, it has the patience of %v", given, got)
		}
	}
}
