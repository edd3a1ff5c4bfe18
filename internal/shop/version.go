package shop

import (
	"context"
	"time"
)

// CatalogVersion identifies a state of the catalogue: two versions with equal Changes have the same contents
// unless a hold expired between their times.
type CatalogVersion struct {
	Changes int64     // the number of changes so far
	Orders  int64     // the number of changes of orders so far
	Time    time.Time // by the store's clock
}

// CatalogVersion returns the current version of the catalogue. ok is false if the store cannot know it
// without a query.
func (s *Service) CatalogVersion() (version CatalogVersion, ok bool) { return s.store.CatalogVersion() }

// Validity is the range of versions in which something that was read from the catalogue stays true.
type Validity struct {
	changes     int64
	from, until time.Time
}

// Valid reports whether the version is within the range. A version from before the read is not: the clock was
// set back.
func (v Validity) Valid(version CatalogVersion) bool {
	return v.changes == version.Changes && !version.Time.Before(v.from) && version.Time.Before(v.until)
}

// maxValidity bounds every Validity, in case another program has changed the database file.
const maxValidity = time.Second

// ValidityFrom returns how long something stays true that is read from the catalogue after the version was
// taken: until the next change, the next expiry of a hold, or maxValidity, whichever comes first. Take the
// version before the read: a change in between then ends the validity too early, never too late.
func (s *Service) ValidityFrom(ctx context.Context, version CatalogVersion) (Validity, error) {
	next, err := s.nextHold(ctx, version)
	if err != nil {
		return Validity{}, err
	}
	until := version.Time.Add(maxValidity)
	if !next.IsZero() && next.Before(until) {
		until = next
	}
	return Validity{version.Changes, version.Time, until}, nil
}

// holdExpiry is when the next hold expires. It is valid until an order changes.
type holdExpiry struct {
	validity Validity
	next     time.Time
}

// nextHold returns when the next hold expires; the zero time if there is none. It caches the result.
func (s *Service) nextHold(ctx context.Context, version CatalogVersion) (time.Time, error) {
	version.Changes = version.Orders // other changes do not affect holds
	if cached := s.nextHoldCache.Load(); cached != nil && cached.validity.Valid(version) {
		return cached.next, nil
	}
	next, err := read(ctx, s, ReadTx.NextHold)
	if err == nil {
		s.nextHoldCache.Store(&holdExpiry{Validity{version.Changes, version.Time, version.Time.Add(maxValidity)}, next})
	}
	return next, err
}

// noHoldDue reports whether it is certain, without reading orders, that no hold is due.
func (s *Service) noHoldDue(ctx context.Context) (bool, error) {
	version, ok := s.CatalogVersion()
	if !ok {
		return false, nil
	}
	next, err := s.nextHold(ctx, version)
	return !isPast(next, version.Time), err
}
