package shop

import (
	"context"
	"encoding/json"
	"time"
)

// PlaceOrderAgain undoes the last step of an order. It makes the order's animal available again and places a new
// order with the same reference. Both happen in one transaction, so that nobody else can reserve the animal in
// between. An approved order is cancelled; an order that is delivered, cancelled or expired stays as it is.
// PlaceOrderAgain fails with not_found, precondition_failed or pet_not_found. It fails with invalid_transition if the
// order is placed, and with pet_not_available if the animal is not available or has changed since its delivery.
func (s *Service) PlaceOrderAgain(ctx context.Context, by Caller, id int64, match Precondition[Order]) (Order, error) {
	return write(ctx, s, Writing{By: by, Texts: true}, func(tx *eventTx) (Order, error) {
		now, err := tx.Now()
		if err != nil {
			return Order{}, err
		}
		order, err := existingOrder(tx, id)
		if err == nil && order.holdIsOver(now) {
			order, err = expireOrder(tx, order, now)
		}
		if err == nil {
			err = match.check(order)
		}
		if err == nil {
			err = releasePet(tx, order, now)
		}
		if err != nil {
			return Order{}, err
		}
		return s.placeOrder(tx, NewOrder{PetID: order.PetID, Reference: order.Reference})
	})
}

// releasePet makes the animal of an order available again if the order is approved or delivered. It fails with
// invalid_transition if the order is placed.
func releasePet(tx *eventTx, order Order, now time.Time) error {
	switch order.Status {
	case Placed:
		return Errorf(InvalidTransition, "Order %d is placed; only an order that is approved, delivered, cancelled or expired can be placed again.", order.ID)
	case Approved:
		cancelled := order
		cancelled.Status = Cancelled
		_, err := replaceOrder(tx, order, cancelled, now)
		return err
	case Delivered:
		return takeBack(tx, order)
	}
	return nil
}

// takeBack makes the animal of a delivered order available again, unless the animal has changed since its delivery.
func takeBack(tx *eventTx, order Order) error {
	pet, found, err := tx.Pet(order.PetID)
	if err != nil {
		return err
	}
	if !found {
		return Errorf(PetNotFound, "Animal %d was removed; restore it first.", order.PetID)
	}
	unchanged, err := isUnchangedSince(tx, pet, order)
	if err != nil {
		return err
	}
	if !unchanged {
		return Errorf(PetNotAvailable, "Animal %d has changed since order %d was delivered.", pet.ID, order.ID)
	}
	after := pet
	after.Status = Available
	return tx.UpdatePet(pet, after)
}

// isUnchangedSince reports whether the delivery of an order was the last change to its animal. Checking the animal's
// status is not enough, because the animal may have been returned and sold again, with or without an order.
func isUnchangedSince(tx ReadTx, pet Pet, delivered Order) (bool, error) {
	newest, err := tx.NewestEvents(pet.subject(), 2)
	if err != nil || len(newest) == 0 {
		return false, err
	}
	var last struct{ Current, Previous Pet }
	if err := json.Unmarshal(newest[0].Data, &last); err != nil {
		return false, err
	}
	if newest[0].Type != PetUpdated || last.Previous.Status != Pending || last.Current.Status != Sold {
		return false, nil
	}
	// If only one event about the animal is left, the events about all earlier deliveries have expired. This event
	// then comes from the delivery of the given order, provided that an event about the order is left.
	if len(newest) == 1 {
		delivery, err := tx.NewestEvents(delivered.subject(), 1)
		return len(delivery) == 1, err
	}
	// If this delivery was the last change, the animal's previous event is not later than the delivery.
	return !newest[1].Time.After(delivered.UpdatedAt), nil
}
