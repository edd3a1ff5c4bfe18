package shop

import (
	"context"
	"time"
)

// DefaultOrderHold is how long a placed order holds its animal.
const DefaultOrderHold = 72 * time.Hour

// OrderHold is how long a placed order holds its animal in this shop.
func (s *Service) OrderHold() time.Duration { return s.orderHold }

func (o Order) holdIsOver(now time.Time) bool {
	return o.Status == Placed && !now.Before(o.HoldExpiresAt)
}

// expireDueHold ends the order that holds an animal where its hold has run out. Every write that looks at an animal does it
// first, so that it never meets a hold that is over.
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

// expireOrder ends an order whose hold has run out. Whoever comes across it, nobody asked for it.
func expireOrder(tx *eventTx, order Order, now time.Time) (expired Order, err error) {
	err = tx.asSystem(func() error {
		expired, err = advanceOrder(tx, order, Expired, now)
		return err
	})
	return expired, err
}

// ExpireHolds ends all orders whose hold has run out, some at a time: others wait while it happens.
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

// hasDueHold tells whether a hold is over.
func hasDueHold(tx ReadTx) (bool, error) {
	now, err := tx.Now()
	if err != nil {
		return false, err
	}
	next, err := tx.NextHold()
	return isPast(next, now), err
}

// readCurrent reads a state in which no hold is over. It looks and reads in one transaction; where something is due, it
// ends that and looks anew. When the store cannot be written, what is there is shown: a read must not fail for it.
func readCurrent[T any](ctx context.Context, s *Service, fn func(ReadTx) (T, error)) (T, error) {
	type result struct {
		value T
		due   bool
	}
	settled, err := s.noHoldDue(ctx)
	if err != nil {
		return *new(T), err
	}
	if settled {
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
