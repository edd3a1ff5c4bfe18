package shop

import (
	"context"
	"time"
)

// DefaultOrderHold is how long a placed order holds its animal.
const DefaultOrderHold = 72 * time.Hour

// OrderHold returns how long a placed order holds its animal in this shop.
func (s *Service) OrderHold() time.Duration { return s.orderHold }

func (o Order) holdIsOver(now time.Time) bool {
	return o.Status == Placed && !now.Before(o.HoldExpiresAt)
}

// expireDueHold expires the order of an animal if its hold is due. Every write that depends on the animal's
// status calls it first, so the rules never see a hold that should have expired.
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

// expireOrder expires an order whose hold is due. The actor is system, no matter which request noticed the
// expiry.
func expireOrder(tx *eventTx, order Order, now time.Time) (expired Order, err error) {
	err = tx.asSystem(func() error {
		expired, err = advanceOrder(tx, order, Expired, now)
		return err
	})
	return expired, err
}

// ExpireHolds expires all orders whose hold is due, in several transactions so that other writes need not
// wait for all.
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

// hasDueHold reports whether any hold is due.
func hasDueHold(tx ReadTx) (bool, error) {
	now, err := tx.Now()
	if err != nil {
		return false, err
	}
	next, err := tx.NextHold()
	return isPast(next, now), err
}

// readCurrent reads a snapshot in which no hold is due, so that an expired hold is never visible, even if the
// background job is late. It checks and reads in one transaction; if a hold is due, it expires it and starts
// over. If the store is not writable, it reads the snapshot as it is: a read must not fail because of a hold.
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
