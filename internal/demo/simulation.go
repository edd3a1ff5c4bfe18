package demo

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"animalstore/internal/shop"
)

const (
	// weeks is how long the shop has been open. The counts by the day go back less far, so its opening does not dwarf the rest.
	weeks = 5
	day   = 24 * time.Hour
	// opening is how many animals came before the first customer.
	opening = 64
	// openHours is how long the shop is open each day. The day ends now, whenever that is, so that every demo is the same.
	openHours = 9 * time.Hour
)

// simulation is what happens in the shop, step by step.
type simulation struct {
	service  *shop.Service
	clock    *clock
	now      time.Time // when it ends
	random   *rand.Rand
	steps    []step // that are to come, the earliest first
	arrived  int
	reserved []int64          // animals that nobody has asked for
	names    map[int][]string // that animals of a category do not have yet
	anna     employee
	ben      employee
	web      employee
}

// step is something that is done at some time.
type step struct {
	at time.Time
	do func() error
}

// employee is one of those who work here, by the secret of a key that nobody else has ever seen.
type employee struct {
	ctx    context.Context
	secret string
}

// simulate lets a shop live within one write, up to now, and returns how many animals it has then.
func simulate(ctx context.Context, tx shop.WriteTx, clock *clock, now time.Time) (int, error) {
	clock.at = now.Add(-weeks * 7 * day)
	service, err := shop.Open(ctx, nestedStore{tx}, shop.Options{Now: clock.now})
	if err != nil {
		return 0, err
	}
	s := &simulation{service: service, clock: clock, now: now, random: rand.New(rand.NewPCG(7, 19)), names: map[int][]string{}}
	if err := s.openShop(ctx); err != nil {
		return 0, err
	}
	s.scheduleArrivals()
	for len(s.steps) > 0 {
		next := s.steps[0]
		s.steps = s.steps[1:]
		clock.at = next.at
		if err := next.do(); err != nil {
			return 0, err
		}
	}
	clock.at = now
	inventory, err := service.Inventory(ctx)
	if err != nil {
		return 0, err
	}
	return int(inventory.Available + inventory.Pending + inventory.Sold + inventory.Unspecified), service.SaveUses(ctx)
}

// openShop gives those who work here their keys, and puts up the signs.
func (l *simulation) openShop(ctx context.Context) error {
	for _, w := range []struct {
		worker *employee
		name   string
		scopes []shop.Scope
	}{
		{&l.anna, "Anna, back office", []shop.Scope{shop.PetsRead, shop.PetsWrite, shop.OrdersRead, shop.OrdersWrite, shop.EventsRead}},
		{&l.ben, "Ben, at the till", []shop.Scope{shop.PetsRead, shop.PetsWrite, shop.OrdersRead, shop.OrdersWrite}},
		{&l.web, "Web shop", []shop.Scope{shop.PetsRead, shop.OrdersRead, shop.OrdersWrite}},
	} {
		key, err := l.service.CreateKey(ctx, shop.NewKey{Name: w.name, Scopes: w.scopes})
		if err != nil {
			return err
		}
		*w.worker = employee{ctx, key.Secret}
	}
	return l.actAs(l.anna, func(ctx context.Context) error {
		for _, sort := range categories {
			if _, err := l.service.CreateCategory(ctx, sort.name); err != nil {
				return err
			}
		}
		return nil
	})
}

// actAs does something in the name of a worker.
func (l *simulation) actAs(w employee, do func(context.Context) error) error {
	principal, err := l.service.Authenticate(w.ctx, w.secret)
	if err != nil {
		return err
	}
	return do(shop.WithPrincipal(w.ctx, principal))
}

// schedule plans a step. What would come later than now does not come.
func (l *simulation) schedule(when time.Time, do func() error) {
	if !when.Before(l.now) {
		return
	}
	i, _ := slices.BinarySearchFunc(l.steps, when, func(s step, when time.Time) int {
		if s.at.After(when) {
			return 1
		}
		return -1 // after those that were planned for the same time
	})
	l.steps = slices.Insert(l.steps, i, step{when, do})
}

// between is some time from one length to another, to the microsecond: nothing happens on the hour.
func (l *simulation) between(least, most time.Duration) time.Duration {
	return least + time.Duration(l.random.Int64N(int64(most-least)))
}

// openingHours is some time of one day, from so many days before now.
func (l *simulation) openingHours(daysAgo int) time.Time {
	return l.now.Add(-time.Duration(daysAgo) * day).Add(-l.between(time.Minute, openHours))
}

// intoOpeningHours moves a time into the hours in which the shop is open: the later the later.
func (l *simulation) intoOpeningHours(when time.Time) time.Time {
	left := l.now.Sub(when)
	days := left / day * day
	return l.now.Add(-days - time.Duration(float64(left-days)*float64(openHours)/float64(day)))
}
