package shop

import "context"

// read runs a closure that makes one value. The value of a run that failed is dropped with it.
func read[T any](ctx context.Context, s *Service, fn func(ReadTx) (T, error)) (T, error) {
	var value T
	err := s.store.Read(ctx, func(tx ReadTx) (err error) {
		value, err = fn(tx)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return value, nil
}

// write is read for a closure that changes something. Under a context of WithRepeat it happens once: what it made is kept
// in the same transaction, and whoever asks again gets that as a Replay.
func write[T any](ctx context.Context, s *Service, fn func(*ledger) (T, error)) (T, error) {
	repeat := repeatOf(ctx)
	if repeat != nil {
		done, err := s.running.enter(ctx, repeat)
		if err != nil {
			return *new(T), err
		}
		defer done()
	}
	var value T
	err := s.change(ctx, func(l *ledger) (err error) {
		if err := s.check(l, repeat); err != nil {
			return err
		}
		if value, err = fn(l); err != nil || repeat == nil {
			return err
		}
		return repeat.keep(l, value)
	})
	if err != nil {
		return *new(T), err
	}
	return value, nil
}

// change runs a closure that changes the shop, in the name of the context's principal.
func (s *Service) change(ctx context.Context, fn func(*ledger) error) error {
	l := &ledger{actor: actorOf(ctx)}
	return s.store.Write(ctx, func(tx WriteTx) error {
		l.WriteTx = tx
		return fn(l)
	})
}

// inParts does housekeeping until there is no more of it, a part at a time: others wait while it happens.
func (s *Service) inParts(ctx context.Context, part func(WriteTx) (more bool, err error)) error {
	for more := true; more; {
		err := s.store.Write(ctx, func(tx WriteTx) (err error) {
			more, err = part(tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
