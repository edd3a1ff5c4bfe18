// Package demo fills an empty store with five weeks of made-up pet shop activity, so that a new user
// immediately sees every feature in use. All data is created through package shop and follows its rules.
package demo

import (
	"context"
	"errors"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// weeks is the length of the history. The daily charts cover a shorter time, so they do not show the many
// arrivals on the opening day.
const weeks = 5

// ErrNotEmpty is returned by Fill if the store already contains data. Demo data must never be mixed with real
// data.
var ErrNotEmpty = errors.New("it already has animals, categories, orders or webhooks")

// writeTimeout is the maximum duration of the transaction that writes everything. It is long enough for a slow
// connection to a remote server.
const writeTimeout = 5 * time.Minute

// Fill fills an open but empty store and returns the number of animals. Everything is written in one
// transaction, so an interrupted start or several concurrent starts leave either all of the data or none. If
// the store already contains the demo data, Fill changes nothing and returns 0. It returns ErrNotEmpty if the
// store contains other data.
func Fill(ctx context.Context, store shop.Store, database string) (animals int, err error) {
	var now time.Time
	var filled bool
	err = store.Read(ctx, shop.Reading{}, func(tx shop.ReadTx) error {
		if now, err = tx.Now(); err != nil {
			return err
		}
		filled, err = isFilled(tx)
		return err
	})
	if err != nil || filled {
		return 0, err
	}
	// The history is written through a second store, whose clock is set to times in the past.
	clock := &clock{now}
	past, err := sqlstore.Open(ctx, database, sqlstore.Options{Existing: true, Now: clock.now})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, past.Close()) }()
	illustrations()
	err = past.Write(ctx, shop.Writing{Budget: writeTimeout}, func(tx shop.WriteTx) error {
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
	if err := past.Publish(ctx); err != nil {
		return 0, err
	}
	// The store itself may be in use already, and must notice that its catalogue has changed.
	return animals, store.Write(ctx, shop.Writing{}, func(tx shop.WriteTx) error { return tx.SetDemo() })
}

// isFilled reports whether the store already contains the demo data. It returns ErrNotEmpty if the store
// contains other data.
func isFilled(tx shop.ReadTx) (bool, error) {
	if demo, err := tx.Demo(); err != nil || demo {
		return demo, err
	}
	empty, err := shop.IsEmpty(tx)
	if err == nil && !empty {
		err = ErrNotEmpty
	}
	return false, err
}

// openShop creates the employees' keys and the categories.
func (s *simulation) openShop() error {
	for _, w := range []struct {
		worker *employee
		name   string
		scopes []shop.Scope
	}{
		{&s.anna, "Anna, back office", shop.RoleStaff.Scopes()},
		{&s.ben, "Ben, at the till", []shop.Scope{shop.PetsRead, shop.PetsWrite, shop.OrdersRead, shop.OrdersWrite}},
		{&s.web, "Web shop", []shop.Scope{shop.PetsRead, shop.OrdersRead, shop.OrdersWrite}},
	} {
		key, err := s.service.CreateKey(s.ctx, shop.Caller{}, shop.NewKey{Name: w.name, Scopes: w.scopes})
		if err != nil {
			return err
		}
		*w.worker = employee{key.Secret}
	}
	return s.actAs(s.anna, func(by shop.Caller) error {
		for _, category := range categories {
			if _, err := s.service.CreateCategory(s.ctx, by, category.name); err != nil {
				return err
			}
		}
		return nil
	})
}
