package demo

import (
	"context"
	"fmt"
	"time"

	"animalstore/internal/shop"
)

// scheduleArrivals says which animals come. What becomes of each is decided when it comes.
func (l *simulation) scheduleArrivals() {
	start := l.clock.at
	for i := range opening {
		stays := i%10 == 0 // the first stays for good: examples speak of it
		l.schedule(start.Add(time.Duration(i)*3*time.Minute+l.between(time.Second, time.Minute)), func() error { return l.arrive(stays) })
	}
	for ago := weeks*7 - 1; ago >= 0; ago-- {
		several := 6 + l.random.IntN(6)
		if ago%7 == 3 {
			several = l.random.IntN(3) // a quiet day
		}
		for range several {
			l.schedule(l.openingHours(ago), func() error { return l.arrive(false) })
		}
	}
	// These show what a shop looks at first: holds that are about to run out, and what has just been asked for.
	for i, ago := range []time.Duration{71*time.Hour + 20*time.Minute, 66 * time.Hour, 51 * time.Hour, 26 * time.Hour, 3 * time.Hour, 18 * time.Minute} {
		l.schedule(l.now.Add(-ago-l.between(time.Second, time.Minute)), func() error {
			return l.actAs(l.web, func(ctx context.Context) error {
				_, err := l.service.PlaceOrder(ctx, shop.NewOrder{PetID: l.reserved[i+1], Reference: customers[i]})
				return err
			})
		})
	}
}

// arrive brings an animal into the shop. Some have to be looked at first, and carry no status until then.
func (l *simulation) arrive(stays bool) error {
	sort, name := l.nextAnimal()
	status, looked := shop.Available, l.clock.at
	if !stays && l.random.IntN(3) == 0 {
		status, looked = "", l.intoOpeningHours(l.clock.at.Add(l.between(20*time.Hour, 3*day)))
	}
	mistyped := l.arrived%70 == 0
	entered := name
	if mistyped {
		entered = name[:len(name)-1]
	}
	var pet shop.Pet
	err := l.actAs(l.anna, func(ctx context.Context) (err error) {
		pet, err = l.service.CreatePet(ctx, shop.NewPet{Name: entered, CategoryID: int64(sort + 1), Status: status})
		return err
	})
	if err != nil {
		return err
	}
	if mistyped {
		l.scheduleUpdate(l.anna, l.clock.at.Add(l.between(time.Minute, time.Hour)), pet, shop.PetChange{Name: &name})
	}
	if status == "" {
		l.scheduleUpdate(l.anna, looked, pet, shop.PetChange{Status: new(shop.Available)})
	}
	if stays {
		l.reserved = append(l.reserved, pet.ID)
	} else {
		l.scheduleDeparture(pet, looked.Add(l.between(3*time.Hour, 5*day)+time.Duration(l.random.ExpFloat64()*float64(9*day))))
	}
	return nil
}

// nextAnimal chooses what comes: of which category, and what it is called.
func (l *simulation) nextAnimal() (sort int, name string) {
	l.arrived++
	often := 0
	for _, sort := range categories {
		often += sort.often
	}
	for n := l.random.IntN(often); n >= categories[sort].often; sort++ {
		n -= categories[sort].often
	}
	if len(l.names[sort]) == 0 {
		for _, i := range l.random.Perm(len(petNames)) {
			l.names[sort] = append(l.names[sort], petNames[i])
		}
	}
	given := l.names[sort][0]
	l.names[sort] = l.names[sort][1:]
	return sort, given + ", " + categories[sort].kinds[l.random.IntN(len(categories[sort].kinds))]
}

// scheduleDeparture decides how an animal leaves, from some time on.
func (l *simulation) scheduleDeparture(pet shop.Pet, when time.Time) {
	switch n := l.random.IntN(100); {
	case n < 62:
		l.scheduleOrder(pet, when)
	case n < 96:
		l.scheduleSale(pet, when)
	default: // it went to another shop
		l.schedule(l.intoOpeningHours(when), func() error {
			return l.actAs(l.anna, func(ctx context.Context) error { return l.service.DeletePet(ctx, pet.ID, nil) })
		})
	}
}

// scheduleSale sells an animal over the counter. Now and then one comes back.
func (l *simulation) scheduleSale(pet shop.Pet, when time.Time) {
	when = l.intoOpeningHours(when)
	l.scheduleUpdate(l.ben, when, pet, shop.PetChange{Status: new(shop.Sold)})
	if l.random.IntN(12) == 0 {
		back := l.intoOpeningHours(when.Add(l.between(2*day, 5*day)))
		l.scheduleUpdate(l.anna, back, pet, shop.PetChange{Status: new(shop.Available)})
	}
}

func (l *simulation) scheduleUpdate(w employee, when time.Time, pet shop.Pet, change shop.PetChange) {
	l.schedule(when, func() error {
		return l.actAs(w, func(ctx context.Context) error {
			_, err := l.service.UpdatePet(ctx, pet.ID, change, nil)
			return err
		})
	})
}

// scheduleOrder lets a customer ask for an animal on the web, and see what becomes of it.
func (l *simulation) scheduleOrder(pet shop.Pet, when time.Time) {
	reference := ""
	switch l.random.IntN(3) {
	case 0:
		reference = customers[l.random.IntN(len(customers))]
	case 1:
		reference = fmt.Sprintf("web %d", 20400+l.random.IntN(600))
	}
	l.schedule(when, func() error {
		var order shop.Order
		err := l.actAs(l.web, func(ctx context.Context) (err error) {
			order, err = l.service.PlaceOrder(ctx, shop.NewOrder{PetID: pet.ID, Reference: reference})
			return err
		})
		if err == nil {
			l.scheduleOutcome(pet, order)
		}
		return err
	})
}

// scheduleOutcome takes an order to its end: to the customer, or back on the shelf, from where the animal leaves another time.
func (l *simulation) scheduleOutcome(pet shop.Pet, order shop.Order) {
	approved := l.intoOpeningHours(order.CreatedAt.Add(l.between(20*time.Minute, 20*time.Hour)))
	free := time.Time{}
	switch n := l.random.IntN(100); {
	case n < 72:
		l.scheduleStatus(l.ben, approved, order, shop.Approved)
		l.scheduleStatus(l.ben, l.intoOpeningHours(approved.Add(l.between(2*time.Hour, 2*day))), order, shop.Delivered)
		return
	case n < 80:
		l.scheduleStatus(l.ben, approved, order, shop.Approved)
		free = l.intoOpeningHours(approved.Add(l.between(4*time.Hour, 2*day)))
		l.scheduleStatus(l.anna, free, order, shop.Cancelled)
	case n < 88:
		free = approved
		l.scheduleStatus(l.web, free, order, shop.Cancelled)
	default: // nobody came for it
		free = order.HoldExpiresAt.Add(l.between(0, 500*time.Millisecond))
		l.schedule(free, func() error { return l.service.ExpireHolds(l.anna.ctx) })
	}
	l.scheduleDeparture(pet, free.Add(l.between(5*time.Hour, 8*day)))
}

func (l *simulation) scheduleStatus(w employee, when time.Time, order shop.Order, to shop.OrderStatus) {
	l.schedule(when, func() error {
		return l.actAs(w, func(ctx context.Context) error {
			_, err := l.service.UpdateOrder(ctx, order.ID, to, nil)
			return err
		})
	})
}
