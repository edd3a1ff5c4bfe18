// Package demo fills an empty store with five weeks of made-up activity of a pet shop, so that a new user
// sees every feature at once. All data goes through the rules of package shop.
package demo

import (
	"context"
	"errors"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// ErrNotEmpty is returned by Fill for a store with data: demo data must never mix with real data.
var ErrNotEmpty = errors.New("it already has animals, categories, orders or webhooks")

// writeTimeout limits the one write, which takes long on a remote server.
const writeTimeout = 5 * time.Minute

// Fill fills an open but empty store, and returns the number of animals. It is one write: an interrupted
// start, or several concurrent ones, leave all of the data or none. If the store was filled before, Fill
// changes nothing and returns 0. It returns ErrNotEmpty if the store has other data.
func Fill(ctx context.Context, store shop.Store, database string) (animals int, err error) {
	var now time.Time
	var filled bool
	err = store.Read(ctx, func(tx shop.ReadTx) error {
		if now, err = tx.Now(); err != nil {
			return err
		}
		filled, err = isFilled(tx)
		return err
	})
	if err != nil || filled {
		return 0, err
	}
	// The past is written through a second store whose clock is set to the past.
	clock := &clock{now}
	past, err := sqlstore.Open(ctx, database, sqlstore.Options{Existing: true, Now: clock.now})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, past.Close()) }()
	err = past.Write(shop.WithRetryBudget(ctx, writeTimeout), func(tx shop.WriteTx) error {
		animals = 0
		if filled, err := isFilled(tx); err != nil || filled {
			return err
		}
		if animals, err = simulate(ctx, tx, clock, now); err != nil {
			return err
		}
		return tx.SetDemo()
	})
	if err != nil {
		return 0, err
	}
	return animals, past.Publish(ctx)
}

// isFilled reports whether the store was filled before. It returns ErrNotEmpty if the store has other data.
func isFilled(tx shop.ReadTx) (bool, error) {
	if demo, err := tx.Demo(); err != nil || demo {
		return demo, err
	}
	one := shop.PageRequest{Limit: 1}
	pets, err := tx.HasPets()
	if err != nil {
		return false, err
	}
	categories, err := tx.Categories(one)
	if err != nil {
		return false, err
	}
	webhooks, err := tx.Webhooks(one) // they would receive the made-up events
	if err != nil {
		return false, err
	}
	orders, err := tx.Orders(shop.OrderList{PageRequest: one})
	if err == nil && (pets || len(categories)+len(webhooks)+len(orders) > 0) {
		err = ErrNotEmpty
	}
	return false, err
}

// clock is a clock that is set by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// nestedStore is a Store inside a write transaction of another: everything a service does with it is part of
// that write.
type nestedStore struct{ tx shop.WriteTx }

func (w nestedStore) Read(_ context.Context, fn func(shop.ReadTx) error) error   { return fn(w.tx) }
func (w nestedStore) Write(_ context.Context, fn func(shop.WriteTx) error) error { return fn(w.tx) }
func (w nestedStore) Ready(context.Context) error                                { return nil }
func (w nestedStore) CatalogVersion() (shop.CatalogVersion, bool) {
	return shop.CatalogVersion{}, false
}
func (w nestedStore) Publish(context.Context) error { return nil }
func (w nestedStore) Wakeups() <-chan struct{}      { return nil }
