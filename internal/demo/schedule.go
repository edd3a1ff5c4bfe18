package demo

import (
	"fmt"
	"time"

	"animalstore/internal/shop"
)

const (
	// opening is the number of animals that arrive on the first day. On the other days, there are at least fewestDaily
	// and less than fewestDaily + moreDaily arrivals.
	opening     = 64
	fewestDaily = 6
	moreDaily   = 6
	// openHours is how long the shop is open each day. It closes at the time of day at which the store is filled, so
	// that the demo does not depend on that time.
	openHours = 9 * time.Hour
)

// scheduleArrivals schedules the arrival of every animal. What happens to an animal afterwards is scheduled
// when it arrives.
func (s *simulation) scheduleArrivals() {
	start := s.clock.at
	for i := range opening {
		// Every tenth animal stays in the shop forever. The examples in the documentation refer to the first one.
		stays := i%10 == 0
		s.schedule(start.Add(time.Duration(i)*3*time.Minute+s.between(time.Second, time.Minute)), func() error { return s.arrive(stays) })
	}
	for ago := weeks*7 - 1; ago >= 0; ago-- {
		several := fewestDaily + s.random.IntN(moreDaily)
		if ago%7 == 3 {
			several = s.random.IntN(3) // once a week, there is a quiet day
		}
		for range several {
			s.schedule(s.randomOpenTime(ago), func() error { return s.arrive(false) })
		}
	}
	// The dashboard shows these orders first. The holds of some orders expire soon, and other orders have only just
	// been placed.
	for i, ago := range []time.Duration{71*time.Hour + 20*time.Minute, 66 * time.Hour, 51 * time.Hour, 26 * time.Hour, 3 * time.Hour, 18 * time.Minute} {
		s.schedule(s.now.Add(-ago-s.between(time.Second, time.Minute)), func() error {
			return s.actAs(s.web, func(by shop.Caller) error {
				pickup := s.now.AddDate(0, 0, i).Format(time.DateOnly)
				n := shop.NewOrder{PetID: s.reserved[i+1], Reference: customers[i], PickupDate: pickup, Customer: people[i]}
				_, err := s.service.PlaceOrder(s.ctx, by, n)
				return err
			})
		})
	}
}

// arrive adds an animal. Some animals must be examined first and have no status until then.
func (s *simulation) arrive(stays bool) error {
	animal := s.nextAnimal()
	status, examined := shop.Available, s.clock.at
	if !stays && s.random.IntN(3) == 0 {
		status, examined = "", s.intoOpeningHours(s.clock.at.Add(s.between(20*time.Hour, 3*day)))
	}
	mistyped := s.arrived%70 == 0
	entered := []rune(animal.name)
	if mistyped {
		entered = entered[:len(entered)-1]
	}
	var pet shop.Pet
	err := s.actAs(s.anna, func(by shop.Caller) (err error) {
		pet, err = s.service.CreatePet(s.ctx, by, shop.NewPet{Name: string(entered), CategoryID: int64(animal.category + 1), Status: status})
		return err
	})
	if err != nil {
		return err
	}
	s.scheduleProfile(pet, animal, examined)
	if mistyped {
		s.scheduleUpdate(s.anna, s.clock.at.Add(s.between(time.Minute, time.Hour)), pet, shop.PetChange{Name: &animal.name})
	}
	if status == "" {
		s.scheduleUpdate(s.anna, examined, pet, shop.PetChange{Status: new(shop.Available)})
	}
	if stays {
		s.reserved = append(s.reserved, pet.ID)
	} else {
		s.scheduleDeparture(pet, examined.Add(s.between(3*time.Hour, 5*day)+time.Duration(s.random.ExpFloat64()*float64(9*day))))
	}
	return nil
}

// nextAnimal chooses the next animal.
func (s *simulation) nextAnimal() animal {
	s.arrived++
	weights, category := 0, 0
	for _, category := range categories {
		weights += category.weight
	}
	for n := s.random.IntN(weights); n >= categories[category].weight; category++ {
		n -= categories[category].weight
	}
	if len(s.names[category]) == 0 {
		for _, i := range s.random.Perm(len(petNames)) {
			s.names[category] = append(s.names[category], petNames[i])
		}
	}
	name := s.names[category][0]
	s.names[category] = s.names[category][1:]
	breeds := categories[category].breeds
	return animal{name, category, breeds[s.random.IntN(len(breeds))]}
}

// scheduleDeparture decides how an animal leaves the shop. The animal leaves at the given time or later.
func (s *simulation) scheduleDeparture(pet shop.Pet, when time.Time) {
	switch n := s.random.IntN(100); {
	case n < 62:
		s.scheduleOrder(pet, when)
	case n < 96:
		s.scheduleSale(pet, when)
	default: // the animal is moved to another shop
		s.schedule(s.intoOpeningHours(when), func() error {
			return s.actAs(s.anna, func(by shop.Caller) error { return s.service.DeletePet(s.ctx, by, pet.ID, nil) })
		})
		if pet.ID%3 == 0 { // a third of these animals were removed by mistake and are restored
			s.schedule(s.intoOpeningHours(when).Add(5*time.Minute), func() error {
				return s.actAs(s.anna, func(by shop.Caller) error {
					_, err := s.service.RestorePet(s.ctx, by, pet.ID)
					return err
				})
			})
		}
	}
}

// scheduleSale schedules a sale without an order. Some animals are returned later.
func (s *simulation) scheduleSale(pet shop.Pet, when time.Time) {
	when = s.intoOpeningHours(when)
	s.scheduleUpdate(s.ben, when, pet, shop.PetChange{Status: new(shop.Sold)})
	if s.random.IntN(12) == 0 {
		back := s.intoOpeningHours(when.Add(s.between(2*day, 5*day)))
		s.scheduleUpdate(s.anna, back, pet, shop.PetChange{Status: new(shop.Available)})
	}
}

func (s *simulation) scheduleUpdate(w employee, when time.Time, pet shop.Pet, change shop.PetChange) {
	s.schedule(when, func() error {
		return s.actAs(w, func(by shop.Caller) error {
			_, err := s.service.UpdatePet(s.ctx, by, pet.ID, change, nil)
			return err
		})
	})
}

// scheduleOrder schedules an order that the web shop places for an animal.
func (s *simulation) scheduleOrder(pet shop.Pet, when time.Time) {
	reference := ""
	switch s.random.IntN(3) {
	case 0:
		reference = customers[s.random.IntN(len(customers))]
	case 1:
		reference = fmt.Sprintf("web %d", 20400+s.random.IntN(600))
	}
	s.schedule(when, func() error {
		var order shop.Order
		err := s.actAs(s.web, func(by shop.Caller) (err error) {
			order, err = s.service.PlaceOrder(s.ctx, by, shop.NewOrder{PetID: pet.ID, Reference: reference})
			return err
		})
		if err == nil {
			s.scheduleOutcome(pet, order)
		}
		return err
	})
}

// scheduleOutcome schedules what becomes of an order. If the animal is not delivered, it leaves the shop
// later in some other way.
func (s *simulation) scheduleOutcome(pet shop.Pet, order shop.Order) {
	approved := s.intoOpeningHours(order.CreatedAt.Add(s.between(20*time.Minute, 20*time.Hour)))
	free := time.Time{}
	switch n := s.random.IntN(100); {
	case n < 72:
		s.scheduleStatus(s.ben, approved, order, shop.Approved)
		s.scheduleStatus(s.ben, s.intoOpeningHours(approved.Add(s.between(2*time.Hour, 2*day))), order, shop.Delivered)
		return
	case n < 80:
		s.scheduleStatus(s.ben, approved, order, shop.Approved)
		free = s.intoOpeningHours(approved.Add(s.between(4*time.Hour, 2*day)))
		s.scheduleStatus(s.anna, free, order, shop.Cancelled)
	case n < 88:
		free = approved
		s.scheduleStatus(s.web, free, order, shop.Cancelled)
	default: // the hold expires; for every second order, it is first extended by a day
		hold := order.HoldExpiresAt
		if order.ID%2 == 0 {
			hold = hold.Add(day)
			s.scheduleOrderChange(s.web, order.CreatedAt.Add(time.Hour), order, shop.OrderChange{HoldExpiresAt: &hold})
		}
		free = hold.Add(s.between(0, 500*time.Millisecond))
		s.schedule(free, func() error { return s.service.ExpireHolds(s.ctx) })
	}
	s.scheduleDeparture(pet, free.Add(s.between(5*time.Hour, 8*day)))
}

func (s *simulation) scheduleStatus(w employee, when time.Time, order shop.Order, to shop.OrderStatus) {
	s.scheduleOrderChange(w, when, order, shop.OrderChange{Status: &to})
}

func (s *simulation) scheduleOrderChange(w employee, when time.Time, order shop.Order, change shop.OrderChange) {
	s.schedule(when, func() error {
		return s.actAs(w, func(by shop.Caller) error {
			_, err := s.service.UpdateOrder(s.ctx, by, order.ID, change, nil)
			return err
		})
	})
}

// randomOpenTime returns a random time within the opening hours, the given number of days ago.
func (s *simulation) randomOpenTime(daysAgo int) time.Time {
	return s.now.Add(-time.Duration(daysAgo) * day).Add(-s.between(time.Minute, openHours))
}

// intoOpeningHours moves a time into the opening hours of its day. It preserves the order of times.
func (s *simulation) intoOpeningHours(when time.Time) time.Time {
	left := s.now.Sub(when)
	days := left / day * day
	return s.now.Add(-days - time.Duration(float64(left-days)*float64(openHours)/float64(day)))
}
