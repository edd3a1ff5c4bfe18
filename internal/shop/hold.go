package shop

import (
	"context"
	"time"
)

// DefaultOrderHold is how long a placed order holds its animal.
const DefaultOrderHold = 72 * time.Hour

// settleHolds ends the orders whose hold has run out. Every write that looks at an animal or an order does it first, so
// that nobody meets a hold that is over.
func (s *Service) settleHolds(tx WriteTx) error {
	now, err := tx.Now()
	if err != nil {
		return err
	}
	for {
		due, err := tx.DueOrders(now)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, order := range due {
			if _, err := advance(tx, order, Expired); err != nil {
				return err
			}
		}
	}
}

// ExpireHolds ends the orders whose hold has run out, where there are any.
func (s *Service) ExpireHolds(ctx context.Context) error {
	due, err := read(ctx, s, hasDue)
	if err != nil || !due {
		return err
	}
	return s.store.Write(ctx, func(tx WriteTx) error { return s.settleHolds(tx) })
}

func hasDue(tx ReadTx) (bool, error) {
	now, err := tx.Now()
	if err != nil {
		return false, err
	}
	due, err := tx.DueOrders(now)
	return len(due) > 0, err
}

// readSettled reads a state in which no hold is over. It looks and reads in one transaction; where something is due, it
// ends that and reads anew. When the store cannot be written, what is there is shown: a read must not fail for it.
func readSettled[T any](ctx context.Context, s *Service, fn func(ReadTx) (T, error)) (T, error) {
	type result struct {
		value T
		due   bool
	}
	got, err := read(ctx, s, func(tx ReadTx) (result, error) {
		if due, err := hasDue(tx); err != nil || due {
			return result{due: due}, err
		}
		value, err := fn(tx)
		return result{value: value}, err
	})
	if err != nil || !got.due {
		return got.value, err
	}
	if err := s.ExpireHolds(ctx); err != nil && AsError(err).Code != Unavailable {
		return *new(T), err
	}
	return read(ctx, s, fn)
}
