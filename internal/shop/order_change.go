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
	Reference     *string    // "" removes the reference
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
	if c.Reference != nil {
		p.Merge(NewOrder{Reference: *c.Reference}.Problems())
	}
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
	if c.Reference != nil && *c.Reference != before.Reference {
		if !before.IsOpen() {
			return Order{}, Errorf(InvalidTransition, "The reference of an order that is %s cannot be changed; only that of a placed or approved order can.", before.Status)
		}
		order.Reference = *c.Reference
	}
	return order, nil
}

// UpdateOrder changes an order and updates the status of its animal accordingly. It fails with
// validation_failed, not_found, precondition_failed or invalid_transition.
func (s *Service) UpdateOrder(ctx context.Context, by Caller, id int64, change OrderChange, match Precondition[Order]) (Order, error) {
	if err := change.Problems().Err(); err != nil {
		return Order{}, err
	}
	w := Writing{By: by, Rows: &WriteSet{Orders: []int64{id}}, Texts: change.Reference != nil}
	return write(ctx, s, w, func(tx *eventTx) (Order, error) {
		now, err := tx.Now()
		if err != nil {
			return Order{}, err
		}
		before, err := existingOrder(tx, id)
		if err == nil && before.holdIsOver(now) {
			before, err = expireOrder(tx, before, now)
		}
		if err == nil {
			err = match.check(before)
		}
		if err != nil {
			return Order{}, err
		}
		order, err := change.apply(before, now)
		if err != nil || order == before {
			return order, err
		}
		return replaceOrder(tx, before, order, now)
	})
}

// replaceOrder stores a changed order without checking whether the change is allowed. If the status of the
// order has changed, replaceOrder also updates the status of its animal.
func replaceOrder(tx *eventTx, before, order Order, now time.Time) (Order, error) {
	order.UpdatedAt = latest(now, before.UpdatedAt)
	if err := tx.UpdateOrder(before, order); err != nil || order.Status == before.Status {
		return order, err
	}
	return order, updatePetStatus(tx, order)
}

// updatePetStatus sets the status of an order's animal according to petStatusAfter.
func updatePetStatus(tx *eventTx, order Order) error {
	status, changed := petStatusAfter[order.Status]
	if !changed {
		return nil
	}
	before, found, err := tx.Pet(order.PetID)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("the animal %d of order %d does not exist", order.PetID, order.ID)
	}
	after := before
	after.Status = status
	return tx.UpdatePet(before, after)
}
