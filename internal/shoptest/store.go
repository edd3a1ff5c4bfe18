package shoptest

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// Store wraps the real store and injects failures.
type Store struct {
	shop.Store
	SQL      *sqlstore.Store // the wrapped store
	mu       sync.Mutex
	fault    func(write bool) error
	searches *hold // nil if searches are not blocked
}

// Close closes the wrapped store.
func (s *Store) Close() error { return s.SQL.Close() }

// FailWith makes the store call fault before every read and write. If fault returns an error, the read or write fails
// with that error. If fault itself is nil, the store works normally again.
func (s *Store) FailWith(fault func(write bool) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// HoldWrites blocks every write until release is called. Each write sends a value on entered when it starts. release
// may be called more than once.
func (s *Store) HoldWrites() (entered <-chan struct{}, release func()) {
	begun, gate := make(chan struct{}), make(chan struct{})
	s.FailWith(func(write bool) error {
		if write {
			select {
			case begun <- struct{}{}:
			case <-gate:
			}
			<-gate
		}
		return nil
	})
	return begun, sync.OnceFunc(func() { close(gate) })
}

// HoldSearches blocks every search inside its transaction until release is called or the context of the search ends.
// Each search sends a value on entered when it starts. release may be called more than once.
func (s *Store) HoldSearches() (entered <-chan struct{}, release func()) {
	h := &hold{entered: make(chan struct{}), gate: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.searches = h
	return h.entered, sync.OnceFunc(func() { close(h.gate) })
}

// hold makes searches wait. Each search sends a value on entered and then waits until gate is closed.
type hold struct{ entered, gate chan struct{} }

// heldTx is a transaction in which searches are blocked.
type heldTx struct {
	shop.ReadTx
	*hold
	ctx context.Context
}

func (tx heldTx) SearchPets(list shop.PetList) (shop.Page[shop.Pet], error) {
	select {
	case tx.entered <- struct{}{}:
		select {
		case <-tx.gate:
		case <-tx.ctx.Done():
		}
	case <-tx.gate:
	case <-tx.ctx.Done():
	}
	return tx.ReadTx.SearchPets(list)
}

func (s *Store) check(write bool) error {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(write)
}

// Read reads from the wrapped store unless a fault is injected.
func (s *Store) Read(ctx context.Context, r shop.Reading, fn func(shop.ReadTx) error) error {
	if err := s.check(false); err != nil {
		return err
	}
	s.mu.Lock()
	searches := s.searches
	s.mu.Unlock()
	if searches == nil {
		return s.Store.Read(ctx, r, fn)
	}
	return s.Store.Read(ctx, r, func(tx shop.ReadTx) error { return fn(heldTx{tx, searches, ctx}) })
}

// Write writes to the wrapped store unless a fault is injected.
func (s *Store) Write(ctx context.Context, w shop.Writing, fn func(shop.WriteTx) error) error {
	if err := s.check(true); err != nil {
		return err
	}
	return s.Store.Write(ctx, w, fn)
}

// Ready asks the wrapped store unless a fault is injected.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.check(false); err != nil {
		return err
	}
	return s.Store.Ready(ctx)
}

// Clock is the clock that the store and the service use. Tests move it, for example to let a hold expire.
type Clock struct{ offset atomic.Int64 }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())).Round(0) }

// Forward moves the clock forward, or back if d is negative.
func (c *Clock) Forward(d time.Duration) { c.offset.Add(int64(d)) }
