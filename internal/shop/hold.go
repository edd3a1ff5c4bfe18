package shop

import (
	"context"
	"time"
)

// DefaultOrderHold is how long a placed order holds its animal if Options.OrderHold is zero.
const DefaultOrderHold = 72 * time.Hour

// maxHoldYears limits how many years ahead the end of a hold can be set.
const maxHoldYears = 1

// OrderHold returns how long a placed order holds its animal in this shop.
func (s *Service) OrderHold() time.Duration { return s.orderHold }

// checkHoldEnd fails with validation_failed unless the new end of a hold is in the future, but not too far ahead.
func checkHoldEnd(end, now time.Time) error {
	if !end.After(now) || end.After(now.AddDate(maxHoldYears, 0, 0)) {
		return Problems{{"holdExpiresAt", "must be in the future and at most a year ahead"}}.Err()
	}
	return nil
}

func (o Order) holdIsOver(now time.Time) bool {
	return o.Status == Placed && !now.Before(o.HoldExpiresAt)
}

// checkNotHeld fails with pet_has_open_order if an open order holds the animal.
func checkNotHeld(tx ReadTx, pet Pet) error {
	order, held, err := tx.OpenOrder(pet.ID)
	if err == nil && held {
		err = Errorf(PetHasOpenOrder, "Order %d holds this animal; deliver or cancel the order first.", order.ID)
	}
	return err
}

// expireDueHold expires the open order for the animal with the given id if the order's hold is due. Every
// write that depends on the animal's status calls expireDueHold first, so the rules never see a hold that
// should already have expired.
func expireDueHold(tx *eventTx, id int64) error {
	now, err := tx.Now()
	if err != nil {
		return err
	}
	order, held, err := tx.OpenOrder(id)
	if err == nil && held && order.holdIsOver(now) {
		_, err = expireOrder(tx, order, now)
	}
	return err
}

// expireDueHolds is like expireDueHold, but for several animals.
func expireDueHolds(tx *eventTx, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	now, err := tx.Now()
	if err != nil {
		return err
	}
	orders, err := tx.OpenOrders(ids)
	for _, order := range orders {
		if order.holdIsOver(now) {
			if _, err := expireOrder(tx, order, now); err != nil {
				return err
			}
		}
	}
	return err
}

// expireOrder expires an order whose hold is due. The actor is always system, no matter which request
// discovered that the hold was due.
func expireOrder(tx *eventTx, order Order, now time.Time) (expired Order, err error) {
	err = tx.asSystem(func() error {
		after := order
		after.Status, after.HoldExpiresAt = Expired, time.Time{}
		expired, err = changeOrderStatus(tx, order, after, now, false)
		return err
	})
	return expired, err
}

// ExpireHolds is the job that expires all orders whose hold is due.
func (s *Service) ExpireHolds(ctx context.Context) error { return s.expireHolds(ctx, Background) }

// expireHolds expires all orders whose hold is due. It uses several transactions so that other writes do not
// have to wait until all of these orders are expired.
func (s *Service) expireHolds(ctx context.Context, p Priority) error {
	for {
		var state CatalogState
		err := s.store.Read(ctx, Reading{SingleQuery: true, State: &state}, func(ReadTx) error { return nil })
		if err != nil || !state.isDue() {
			return err
		}
		err = s.writeOnly(ctx, Writing{Priority: p}, func(tx *eventTx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			orders, err := tx.DueOrders(now)
			for _, order := range orders {
				if _, err := expireOrder(tx, order, now); err != nil {
					return err
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
}

// readCurrent reads a snapshot in which no hold is due. Therefore an overdue hold is never visible, even if
// the background job is delayed. If a hold is due in the snapshot, readCurrent expires the hold and starts
// over. If the store is not writable, it returns the result despite the overdue hold, because an overdue hold
// must not make a read fail.
func readCurrent[T any](ctx context.Context, s *Service, r Reading, fn func(ReadTx) (T, error)) (value T, err error) {
	slot, err := s.acquireHeavy(ctx, r)
	if err != nil {
		return value, err
	}
	defer slot.Release()
	if r.State == nil {
		r.State = new(CatalogState)
	}
	for {
		err := s.store.Read(ctx, r, func(tx ReadTx) (err error) {
			value, err = fn(tx)
			return err
		})
		if err != nil {
			return *new(T), err
		}
		if !r.State.isDue() {
			return value, nil
		}
		if err := s.expireHolds(ctx, Interactive); err != nil && AsError(err).Code == Unavailable {
			return value, nil
		} else if err != nil {
			return *new(T), err
		}
	}
}
