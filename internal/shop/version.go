package shop

import (
	"context"
	"time"
)

// CatalogVersion is a state of the catalogue, seen from outside: how often it has changed, and when that was.
type CatalogVersion struct {
	Changes int64
	Orders  int64     // how often orders have changed
	Time    time.Time // of the clock by which holds run out
}

// CatalogVersion tells which catalogue there is now; ok is false where that cannot be known without reading it.
func (s *Service) CatalogVersion() (m CatalogVersion, ok bool) { return s.store.CatalogVersion() }

// Validity is for how long something holds that was read from the catalogue.
type Validity struct {
	changes     int64
	from, until time.Time
}

// Valid tells whether what was read is still so. Nothing holds before it was read: the clock was put back.
func (t Validity) Valid(now CatalogVersion) bool {
	return t.changes == now.Changes && !now.Time.Before(t.from) && now.Time.Before(t.until)
}

// maxValidity bounds how long something holds, whatever is known: somebody may have changed the file by hand.
const maxValidity = time.Second

// ValidityFrom returns for how long something holds that is read after a moment: until the catalogue changes, or a hold runs out.
func (s *Service) ValidityFrom(ctx context.Context, m CatalogVersion) (Validity, error) {
	next, err := s.nextHold(ctx, m)
	if err != nil {
		return Validity{}, err
	}
	until := m.Time.Add(maxValidity)
	if !next.IsZero() && next.Before(until) {
		until = next
	}
	return Validity{m.Changes, m.Time, until}, nil
}

// holdExpiry is when the next hold runs out, as long as no order changes.
type holdExpiry struct {
	validity Validity
	next     time.Time
}

// nextHold returns when the next hold runs out of those that there are at a moment, or the zero time.
func (s *Service) nextHold(ctx context.Context, m CatalogVersion) (time.Time, error) {
	m.Changes = m.Orders // it does not depend on others
	if known := s.nextHoldCache.Load(); known != nil && known.validity.Valid(m) {
		return known.next, nil
	}
	next, err := read(ctx, s, ReadTx.NextHold)
	if err == nil {
		s.nextHoldCache.Store(&holdExpiry{Validity{m.Changes, m.Time, m.Time.Add(maxValidity)}, next})
	}
	return next, err
}

// noHoldDue tells whether no hold is over, where that is known without reading.
func (s *Service) noHoldDue(ctx context.Context) (bool, error) {
	now, ok := s.CatalogVersion()
	if !ok {
		return false, nil
	}
	next, err := s.nextHold(ctx, now)
	return !isPast(next, now.Time), err
}
