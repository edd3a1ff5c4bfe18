package demo

import (
	"context"
	"fmt"
	"time"

	"animalstore/internal/shop"
)

// plan says which animals come. What becomes of each is decided when it comes.
func (l *life) plan() {
	start := l.calendar.at
	for i := range opening {
		stays := i%10 == 0 // the first stays for good: examples speak of it
		l.at(start.Add(time.Duration(i)*3*time.Minute+l.between(time.Second, time.Minute)), func() error { return l.arrive(stays) })
	}
	for ago := weeks*7 - 1; ago >= 0; ago-- {
		several := 6 + l.chance.IntN(6)
		if ago%7 == 3 {
			several = l.chance.IntN(3) // a quiet day
		}
		for range several {
			l.at(l.openAt(ago), func() error { return l.arrive(false) })
		}
	}
	// These show what a shop looks at first: holds that are about to run out, and what has just been asked for.
	for i, ago := range []time.Duration{71*time.Hour + 20*time.Minute, 66 * time.Hour, 51 * time.Hour, 26 * time.Hour, 3 * time.Hour, 18 * time.Minute} {
		l.at(l.now.Add(-ago-l.between(time.Second, time.Minute)), func() error {
			return l.as(l.web, func(ctx context.Context) error {
				_, err := l.service.PlaceOrder(ctx, shop.NewOrder{PetID: l.kept[i+1], Reference: customers[i]})
				return err
			})
		})
	}
}

// arrive brings an animal into the shop. Some have to be looked at first, and carry no status until then.
func (l *life) arrive(stays bool) error {
	sort, name := l.next()
	status, looked := shop.Available, l.calendar.at
	if !stays && l.chance.IntN(3) == 0 {
		status, looked = "", l.working(l.calendar.at.Add(l.between(20*time.Hour, 3*day)))
	}
	mistyped := l.arrived%70 == 0
	entered := name
	if mistyped {
		entered = name[:len(name)-1]
	}
	var pet shop.Pet
	err := l.as(l.anna, func(ctx context.Context) (err error) {
		pet, err = l.service.CreatePet(ctx, shop.NewPet{Name: entered, CategoryID: int64(sort + 1), Status: status})
		return err
	})
	if err != nil {
		return err
	}
	if mistyped {
		l.change(l.anna, l.calendar.at.Add(l.between(time.Minute, time.Hour)), pet, shop.PetChange{Name: &name})
	}
	if status == "" {
		l.change(l.anna, looked, pet, shop.PetChange{Status: new(shop.Available)})
	}
	if stays {
		l.kept = append(l.kept, pet.ID)
	} else {
		l.leave(pet, looked.Add(l.between(3*time.Hour, 5*day)+time.Duration(l.chance.ExpFloat64()*float64(9*day))))
	}
	return nil
}

// next chooses what comes: of which category, and what it is called.
func (l *life) next() (sort int, name string) {
	l.arrived++
	often := 0
	for _, sort := range sorts {
		often += sort.often
	}
	for n := l.chance.IntN(often); n >= sorts[sort].often; sort++ {
		n -= sorts[sort].often
	}
	if len(l.names[sort]) == 0 {
		for _, i := range l.chance.Perm(len(petNames)) {
			l.names[sort] = append(l.names[sort], petNames[i])
		}
	}
	given := l.names[sort][0]
	l.names[sort] = l.names[sort][1:]
	return sort, given + ", " + sorts[sort].kinds[l.chance.IntN(len(sorts[sort].kinds))]
}

// leave decides how an animal leaves, from some time on.
func (l *life) leave(pet shop.Pet, when time.Time) {
	switch n := l.chance.IntN(100); {
	case n < 62:
		l.order(pet, when)
	case n < 96:
		l.sell(pet, when)
	default: // it went to another shop
		l.at(l.working(when), func() error {
			return l.as(l.anna, func(ctx context.Context) error { return l.service.DeletePet(ctx, pet.ID, nil) })
		})
	}
}

// sell sells an animal over the counter. Now and then one comes back.
func (l *life) sell(pet shop.Pet, when time.Time) {
	when = l.working(when)
	l.change(l.ben, when, pet, shop.PetChange{Status: new(shop.Sold)})
	if l.chance.IntN(12) == 0 {
		back := l.working(when.Add(l.between(2*day, 5*day)))
		l.change(l.anna, back, pet, shop.PetChange{Status: new(shop.Available)})
	}
}

func (l *life) change(w worker, when time.Time, pet shop.Pet, change shop.PetChange) {
	l.at(when, func() error {
		return l.as(w, func(ctx context.Context) error {
			_, err := l.service.UpdatePet(ctx, pet.ID, change, nil)
			return err
		})
	})
}

// order lets a customer ask for an animal on the web, and see what becomes of it.
func (l *life) order(pet shop.Pet, when time.Time) {
	reference := ""
	switch l.chance.IntN(3) {
	case 0:
		reference = customers[l.chance.IntN(len(customers))]
	case 1:
		reference = fmt.Sprintf("web %d", 20400+l.chance.IntN(600))
	}
	l.at(when, func() error {
		var order shop.Order
		err := l.as(l.web, func(ctx context.Context) (err error) {
			order, err = l.service.PlaceOrder(ctx, shop.NewOrder{PetID: pet.ID, Reference: reference})
			return err
		})
		if err == nil {
			l.follow(pet, order)
		}
		return err
	})
}

// follow takes an order to its end: to the customer, or back on the shelf, from where the animal leaves another time.
func (l *life) follow(pet shop.Pet, order shop.Order) {
	approved := l.working(order.CreatedAt.Add(l.between(20*time.Minute, 20*time.Hour)))
	free := time.Time{}
	switch n := l.chance.IntN(100); {
	case n < 72:
		l.step(l.ben, approved, order, shop.Approved)
		l.step(l.ben, l.working(approved.Add(l.between(2*time.Hour, 2*day))), order, shop.Delivered)
		return
	case n < 80:
		l.step(l.ben, approved, order, shop.Approved)
		free = l.working(approved.Add(l.between(4*time.Hour, 2*day)))
		l.step(l.anna, free, order, shop.Cancelled)
	case n < 88:
		free = approved
		l.step(l.web, free, order, shop.Cancelled)
	default: // nobody came for it
		free = order.HoldExpiresAt.Add(l.between(0, 500*time.Millisecond))
		l.at(free, func() error { return l.service.ExpireHolds(l.anna.ctx) })
	}
	l.leave(pet, free.Add(l.between(5*time.Hour, 8*day)))
}

func (l *life) step(w worker, when time.Time, order shop.Order, to shop.OrderStatus) {
	l.at(when, func() error {
		return l.as(w, func(ctx context.Context) error {
			_, err := l.service.UpdateOrder(ctx, order.ID, to, nil)
			return err
		})
	})
}
