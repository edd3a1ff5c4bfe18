package shop

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// OrderChange is a partial update of an order. Fields that are nil are not changed.
type OrderChange struct {
	Status        *OrderStatus
	Reference     *string // "" removes the reference
	PickupDate    *string // "" removes the date
	Price         *Price  // the zero value removes the price
	Customer      CustomerChange
	HoldExpiresAt *time.Time // cannot be combined with Status
}

// Problems validates a change as far as this is possible without the order and the store's clock.
func (c OrderChange) Problems() Problems {
	var p Problems
	if c.Status != nil {
		if reason := OrderStatusProblem(string(*c.Status)); reason != "" {
			p.Add("status", reason)
		}
	}
	n := NewOrder{Price: c.Price, Customer: c.Customer.apply(Customer{})}
	replace(&n.Reference, c.Reference)
	replace(&n.PickupDate, c.PickupDate)
	p.Merge(n.Problems())
	if c.HoldExpiresAt != nil && c.Status != nil {
		p.Add("holdExpiresAt", "cannot be changed together with the status")
	}
	return p
}

// apply returns a copy of the order with the change applied. It fails with validation_failed if the new end of
// the hold is not acceptable, and with invalid_transition if the order's status does not allow the change.
func (c OrderChange) apply(before Order, now time.Time) (Order, error) {
	order := before
	if c.HoldExpiresAt != nil {
		order.HoldExpiresAt = c.HoldExpiresAt.UTC().Truncate(time.Microsecond) // the store keeps microseconds
	}
	if hold := order.HoldExpiresAt; hold != before.HoldExpiresAt {
		if err := checkHoldEnd(hold, now); err != nil {
			return Order{}, err
		}
		if before.Status != Placed {
			return Order{}, Errorf(InvalidTransition, "An order that is %s has no hold; only the hold of a placed order can be changed.", before.Status)
		}
	}
	if c.Status != nil && *c.Status != before.Status {
		allowed := orderTransitions[before.Status]
		if !slices.Contains(allowed, *c.Status) {
			return Order{}, Errorf(InvalidTransition, "An order that is %s cannot become %s; %s.", before.Status, *c.Status, allowedStatuses(allowed))
		}
		order.Status, order.HoldExpiresAt = *c.Status, time.Time{}
	}
	replace(&order.Reference, c.Reference)
	replace(&order.PickupDate, c.PickupDate)
	replace(&order.Price, c.Price)
	order.Customer = c.Customer.apply(order.Customer)
	if member := order.differsIn(before); member != "" && !before.IsOpen() {
		return Order{}, Errorf(InvalidTransition, "The %s of an order that is %s cannot be changed; only that of a placed or approved order can.", member, before.Status)
	}
	return order, nil
}

// differsIn returns the name of a member that can be changed while an order is open and differs between two orders. It
// returns "" if there is none.
func (o Order) differsIn(other Order) string {
	switch {
	case o.Reference != other.Reference:
		return "reference"
	case o.PickupDate != other.PickupDate:
		return "pick-up date"
	case o.Price != other.Price:
		return "price"
	case o.Customer != other.Customer:
		return "customer"
	}
	return ""
}

// UpdateOrder changes an order and updates the status of its animal accordingly. It fails with
// validation_failed, not_found, precondition_failed or invalid_transition.
func (s *Service) UpdateOrder(ctx context.Context, by Caller, id int64, change OrderChange, match Precondition[Order]) (Order, error) {
	if err := change.Problems().Err(); err != nil {
		return Order{}, err
	}
	// What a customer was before must not be found any more.
	erases := change.Customer != (CustomerChange{})
	w := Writing{By: by, Rows: &WriteSet{Orders: []int64{id}}, Texts: change.Reference != nil || erases, Erases: erases}
	return write(ctx, s, w, func(tx *eventTx) (Order, error) {
		before, now, err := orderToChange(tx, id, match)
		if err != nil {
			return Order{}, err
		}
		order, err := change.apply(before, now)
		if err != nil || order == before {
			return order, err
		}
		if order.Status != before.Status {
			return changeOrderStatus(tx, before, order, now, false)
		}
		order.UpdatedAt = latest(now, before.UpdatedAt)
		return order, tx.UpdateOrder(before, order)
	})
}

// orderToChange returns the order with the given id and the current time. If the order's hold is over, it expires the
// order first. It fails with not_found or precondition_failed.
func orderToChange(tx *eventTx, id int64, match Precondition[Order]) (order Order, now time.Time, err error) {
	if now, err = tx.Now(); err != nil {
		return order, now, err
	}
	order, err = existingOrder(tx, id)
	if err == nil && order.holdIsOver(now) {
		order, err = expireOrder(tx, order, now)
	}
	if err == nil {
		err = match.check(order)
	}
	return order, now, err
}

// StatusChange is a change of an order's status.
type StatusChange struct {
	At            time.Time   // zero if the status has not changed since the order was placed, or was last changed by version 1.1
	Before        OrderStatus // the status before the change
	HoldExpiresAt time.Time   // the end of the hold before the change; zero if there was none
	// PetStatusChanges is the number of status changes of the animal after this change. It is -1 if the animal was
	// removed and its status had been changed again before.
	PetStatusChanges int64
	IsUndo           bool
}

// changeOrderStatus stores an order whose status has changed, without checking whether the change is allowed, and
// updates the status of its animal. undo means that the change takes back the one before.
func changeOrderStatus(tx *eventTx, before, order Order, now time.Time, undo bool) (Order, error) {
	pet, found, err := tx.Pet(order.PetID)
	if err != nil {
		return Order{}, err
	}
	if !found {
		return Order{}, fmt.Errorf("the animal %d of order %d does not exist", order.PetID, order.ID)
	}
	changes, err := tx.StatusChanges(pet.ID)
	if err != nil {
		return Order{}, err
	}
	update := PetUpdate{Before: pet, After: pet}
	if update.After.Status = petStatusAfter[order.Status]; update.After.Status != pet.Status {
		changes++
	}
	order.UpdatedAt = latest(now, before.UpdatedAt)
	order.LastChange = StatusChange{now, before.Status, before.HoldExpiresAt, changes, undo}
	switch Delivered {
	case order.Status:
		update.SaleAt = now
	case before.Status:
		update.SaleAt = before.LastChange.At
	}
	if err := tx.UpdateOrder(before, order); err != nil || update.After == pet {
		return order, err
	}
	return order, tx.UpdatePets(update)
}
