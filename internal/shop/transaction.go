package shop

import "context"

// read runs a closure in a read transaction and returns the closure's result. It returns the zero value if the
// transaction fails, or if a heavy read gets no slot in time.
func read[T any](ctx context.Context, s *Service, r Reading, fn func(ReadTx) (T, error)) (value T, err error) {
	slot, err := s.acquireHeavy(ctx, r)
	if err != nil {
		return value, err
	}
	defer slot.Release()
	err = s.store.Read(ctx, r, func(tx ReadTx) (err error) {
		value, err = fn(tx)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return value, nil
}

// write runs a closure that changes the shop and returns the closure's result. The recorded events name the caller as
// their actor. If the caller has an idempotent request, the change happens only once. Its response is stored in the same
// transaction. A repeated request fails with a ReplayError that contains this response.
func write[T any](ctx context.Context, s *Service, w Writing, fn func(*eventTx) (T, error)) (value T, err error) {
	request, actor, traceparent := w.By.Request, w.By.Actor(), ""
	if request != nil {
		release, err := s.inFlight.acquire(ctx, request)
		if err != nil {
			return value, err
		}
		defer release()
	}
	if s.traceparent != nil {
		traceparent = s.traceparent(ctx)
	}
	err = s.store.Write(ctx, w, func(tx WriteTx) (err error) {
		if err := s.checkIdempotency(tx, request); err != nil {
			return err
		}
		if value, err = fn(&eventTx{tx, tx, actor, traceparent}); err != nil || request == nil {
			return err
		}
		return request.save(tx, value)
	})
	if err != nil {
		return *new(T), err
	}
	return value, nil
}

// writeOnly is like write, but for a closure that returns only an error.
func (s *Service) writeOnly(ctx context.Context, w Writing, fn func(*eventTx) error) error {
	_, err := write(ctx, s, w, func(tx *eventTx) (struct{}, error) { return struct{}{}, fn(tx) })
	return err
}

// bookkeep runs a closure that can change internal state but cannot make changes that must be recorded as
// events.
func (s *Service) bookkeep(ctx context.Context, fn func(BookkeepingTx) error) error {
	return s.store.Write(ctx, Writing{}, func(tx WriteTx) error { return fn(tx) })
}

// inBackground is like bookkeep, but lets the writes of clients go first.
func (s *Service) inBackground(ctx context.Context, fn func(BookkeepingTx) error) error {
	return s.store.Write(ctx, Writing{Priority: Background}, func(tx WriteTx) error { return fn(tx) })
}

// inBatches repeats a step of a background job until the step reports that there is nothing more to do. Each step
// runs in its own transaction, so that other writes do not have to wait for all of the steps.
func (s *Service) inBatches(ctx context.Context, step func(BookkeepingTx) (more bool, err error)) error {
	for more := true; more; {
		err := s.inBackground(ctx, func(tx BookkeepingTx) (err error) {
			more, err = step(tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
