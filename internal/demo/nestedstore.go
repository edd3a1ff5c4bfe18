package demo

import (
	"context"
	"time"

	"animalstore/internal/shop"
)

// clock is a clock whose time is set by the simulation.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// nestedStore is a Store that works inside a write transaction of another store. Everything that a service
// does with it becomes part of that transaction.
type nestedStore struct{ tx shop.WriteTx }

func (w nestedStore) Read(_ context.Context, r shop.Reading, fn func(shop.ReadTx) error) (err error) {
	if err = fn(w.tx); err == nil && r.State != nil {
		*r.State, err = shop.StateIn(w.tx)
	}
	return err
}
func (w nestedStore) Write(_ context.Context, _ shop.Writing, fn func(shop.WriteTx) error) error {
	return fn(w.tx)
}
func (w nestedStore) Ready(context.Context) error { return nil }
func (w nestedStore) ReadLimits() shop.ReadLimits { return shop.ReadLimits{Heavy: 1} }
func (w nestedStore) CurrentVersion(context.Context, shop.CatalogVersion) (shop.CatalogVersion, time.Time) {
	return shop.CatalogVersion{}, time.Time{}
}
func (w nestedStore) Publish(context.Context) error { return nil }
func (w nestedStore) Wakeups() <-chan struct{}      { return nil }
