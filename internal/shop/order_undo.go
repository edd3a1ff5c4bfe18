package shop

import (
	"context"
	"fmt"
	"time"
)

const (
	// undoPeriod is how long after a change of status an order can be undone.
	undoPeriod = 24 * time.Hour
	// shortestHold is the minimum time that is left of a hold that an undo brings back.
	shortestHold = time.Hour
)

// UndoOrder takes back the last change of an order's status. The order gets the status that it had before, and so does
// its animal. A hold that comes back ends when it would have ended, but not before shortestHold has passed. UndoOrder
// fails with not_found, precondition_failed or undo_not_possible.
func (s *Service) UndoOrder(ctx context.Context, by Caller, id int64, match Precondition[Order]) (Order, error) {
	return write(ctx, s, Writing{By: by, Rows: &WriteSet{Orders: []int64{id}}}, func(tx *eventTx) (Order, error) {
		before, now, err := orderToChange(tx, id, match)
		if err == nil {
			err = checkUndo(tx, before, now)
		}
		if err != nil {
			return Order{}, err
		}
		order := before
		if order.Status = before.LastChange.Before; order.Status == Placed {
			order.HoldExpiresAt = latest(before.LastChange.HoldExpiresAt, now.Add(shortestHold))
		}
		return changeOrderStatus(tx, before, order, now, true)
	})
}

// checkUndo fails with undo_not_possible if the last change of an order's status cannot be taken back.
func checkUndo(tx ReadTx, order Order, now time.Time) error {
	if problem := order.UndoProblem(now); problem != "" {
		return &Error{Code: UndoNotPossible, Message: problem}
	}
	_, found, err := tx.Pet(order.PetID)
	if err != nil {
		return err
	}
	if !found {
		return Errorf(UndoNotPossible, "Animal %d was removed; restore it first.", order.PetID)
	}
	changes, err := tx.StatusChanges(order.PetID)
	if err == nil && changes != order.LastChange.PetStatusChanges {
		err = Errorf(UndoNotPossible, "The status of animal %d has changed since order %d became %s.", order.PetID, order.ID, order.Status)
	}
	return err
}

// UndoProblem explains why the last change of the order's status cannot be taken back at the time now. It returns "" if
// that depends only on the animal.
func (o Order) UndoProblem(now time.Time) string {
	switch last := o.LastChange; {
	case o.Status == Expired:
		return fmt.Sprintf("Order %d has expired, which cannot be undone; its animal can be ordered again.", o.ID)
	case last.At.IsZero() && o.Status == Placed:
		return fmt.Sprintf("The status of order %d has not changed since it was placed, so there is nothing to undo.", o.ID)
	case last.At.IsZero():
		return fmt.Sprintf("Order %d became %s in version 1.1 or earlier, which did not keep what an undo needs.", o.ID, o.Status)
	case last.IsUndo:
		return fmt.Sprintf("The last change of order %d was an undo, which cannot be undone; change the status instead.", o.ID)
	case now.Sub(last.At) > undoPeriod:
		return fmt.Sprintf("Order %d became %s more than 24 hours ago; only a later change can be undone.", o.ID, o.Status)
	}
	return ""
}
