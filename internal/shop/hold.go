package shop

import (
	"context"
	"time"
)

// DefaultOrderHold is how long a placed order holds its animal if Options.OrderHold is zero.
const DefaultOrderHold = 72 * time.Hour

// OrderHold returns how long a placed order holds its animal in this shop.
func (s *Service) OrderHold() time.Duration { return s.orderHold }

func (o Order) holdIsOver(now time.Time) bool {
	return o.Status == Placed && !now.Before(o.HoldExpiresAt)
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

// expireDueHolds is like expireDueHold for several animals.
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
		expired, err = replaceOrder(tx, order, after, now)
		return err
	})
	return expired, err
}

// ExpireHolds expires all orders whose hold is due. It uses several transactions so that other writes do not
// have to wait until all of these orders are expired.
func (s *Service) ExpireHolds(ctx context.Context) error {
	for {
		due, err := read(ctx, s, hasDueHold)
		if err != nil || !due {
			return err
		}
		err = s.change(ctx, func(tx *eventTx) error {
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

// hasDueHold reports whether any order's hold has ended without the order having been expired yet.
func hasDueHold(tx ReadTx) (bool, error) {
	now, err := tx.Now()
	if err != nil {
		return false, err
	}
	next, err := tx.NextHold()
	return isPast(next, now), err
}

// readCurrent reads a snapshot in which no hold is due. Therefore an overdue hold is never visible, even if
// the background job is delayed. readCurrent checks for due holds in the same transaction in which it reads.
// If a hold is due, it expires the hold and starts over. If the store is not writable, it reads the snapshot
// despite the overdue hold, because an overdue hold must not make a read fail.
func readCurrent[T any](ctx context.Context, s *Service, fn func(ReadTx) (T, error)) (T, error) {
	type result struct {
		value T
		due   bool
	}
	current, err := s.noHoldDue(ctx)
	if err != nil {
		return *new(T), err
	}
	if current {
		return read(ctx, s, fn)
	}
	for {
		got, err := read(ctx, s, func(tx ReadTx) (result, error) {
			if due, err := hasDueHold(tx); err != nil || due {
				return result{due: due}, err
			}
			value, err := fn(tx)
			return result{value: value}, err
		})
		if err != nil || !got.due {
			return got.value, err
		}
		if err := s.ExpireHolds(ctx); err != nil && AsError(err).Code == Unavailable {
			return read(ctx, s, fn)
		} else if err != nil {
			return *new(T), err
		}
	}
}
