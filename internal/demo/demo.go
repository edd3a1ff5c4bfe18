// Package demo fills an empty store with five weeks of a pet shop's life, so that the first minute with it shows everything.
// None of it is true, but all of it went through the shop's own rules.
package demo

import (
	"context"
	"errors"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// ErrNotEmpty is what Fill returns for a store with something of its own: the two must never mix.
var ErrNotEmpty = errors.New("it has animals, categories, orders or webhooks of its own")

// writeTimeout is how long all of it may take, on a server that is far away.
const writeTimeout = 5 * time.Minute

// Fill fills an empty store, which is open already, and returns how many animals are there now. It happens as one write, so
// that a start that is interrupted, or several at once, leave all of it or nothing. A store that it has filled before stays as
// it is, whatever became of it, and 0 is returned.
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
	// What happened in the past is written by a store whose clock is there.
	clock := &clock{now}
	past, err := sqlstore.Open(ctx, database, sqlstore.Options{Existing: true, Now: clock.now})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, past.Close()) }()
	err = past.Write(shop.WithPatience(ctx, writeTimeout), func(tx shop.WriteTx) error {
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

// isFilled tells whether a store was filled before. It returns ErrNotEmpty where it must not be.
func isFilled(tx shop.ReadTx) (bool, error) {
	if demo, err := tx.Demo(); err != nil || demo {
		return demo, err
	}
	one := shop.Window{Limit: 1}
	pets, err := tx.HasPets()
	if err != nil {
		return false, err
	}
	categories, err := tx.Categories(one)
	if err != nil {
		return false, err
	}
	webhooks, err := tx.Webhooks(one) // they would be told of all that is made up
	if err != nil {
		return false, err
	}
	orders, err := tx.Orders(shop.OrderList{Window: one})
	if err == nil && (pets || len(categories)+len(webhooks)+len(orders) > 0) {
		err = ErrNotEmpty
	}
	return false, err
}

// clock is a clock that shows the time to which it is turned.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// nestedStore is a store inside one write of another: all that a service does there is part of that write.
type nestedStore struct{ tx shop.WriteTx }

func (w nestedStore) Read(_ context.Context, fn func(shop.ReadTx) error) error   { return fn(w.tx) }
func (w nestedStore) Write(_ context.Context, fn func(shop.WriteTx) error) error { return fn(w.tx) }
func (w nestedStore) Ready(context.Context) error                                { return nil }
func (w nestedStore) Moment() (shop.Moment, bool)                                { return shop.Moment{}, false }
func (w nestedStore) Publish(context.Context) error                              { return nil }
func (w nestedStore) Notices() <-chan struct{}                                   { return nil }
