package demo

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"animalstore/internal/shop"
)

const day = 24 * time.Hour

// simulation runs through the history of the shop step by step.
type simulation struct {
	ctx      context.Context
	service  *shop.Service
	clock    *clock
	now      time.Time // the time at which the history ends
	random   *rand.Rand
	steps    []step // the pending steps, earliest first
	arrived  int
	reserved []int64          // the ids of animals that stay; the orders still open at the end are for them
	names    map[int][]string // the names not yet used in each category
	looks    *rand.Rand       // for profiles, which have no influence on anything else
	anna     employee
	ben      employee
	web      employee
}

// step is an action that happens at a point in time.
type step struct {
	at time.Time
	do func() error
}

// employee is a person or program that acts with its own API key.
type employee struct{ secret string }

// simulate runs through the whole history up to now inside one write transaction. It returns the number of
// animals.
func simulate(ctx context.Context, tx shop.WriteTx, clock *clock, now time.Time) (int, error) {
	clock.at = now.Add(-weeks * 7 * day)
	service, err := shop.Open(ctx, nestedStore{tx}, shop.Options{Now: clock.now})
	if err != nil {
		return 0, err
	}
	s := &simulation{
		ctx: ctx, service: service, clock: clock, now: now, random: rand.New(rand.NewPCG(7, 19)), names: map[int][]string{},
		looks: rand.New(rand.NewPCG(7, 36)),
	}
	if err := s.openShop(); err != nil {
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
	return int(inventory.Available + inventory.Pending + inventory.Sold + inventory.Unspecified), service.SaveLastUses(ctx)
}

// actAs calls do with an employee as the caller.
func (s *simulation) actAs(w employee, do func(by shop.Caller) error) error {
	principal, err := s.service.Authenticate(s.ctx, w.secret)
	if err != nil {
		return err
	}
	return do(shop.Caller{Principal: principal})
}

// schedule adds a step, unless its time is after the end of the history.
func (s *simulation) schedule(when time.Time, do func() error) {
	if !when.Before(s.now) {
		return
	}
	i, _ := slices.BinarySearchFunc(s.steps, when, func(planned step, when time.Time) int {
		if planned.at.After(when) {
			return 1
		}
		return -1 // keeps steps with the same time in their original order
	})
	s.steps = slices.Insert(s.steps, i, step{when, do})
}

// between returns a random duration from least up to, but not including, most.
func (s *simulation) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.random.Int64N(int64(most-least)))
}
