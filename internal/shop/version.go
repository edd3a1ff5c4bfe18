package shop

import (
	"context"
	"time"
)

// CatalogVersion identifies a state of the catalogue. Two versions with equal Changes have the same contents
// unless a hold expired between their times.
type CatalogVersion struct {
	Changes int64     // the number of changes to the catalogue so far
	Orders  int64     // the number of changes to orders so far
	Time    time.Time // when the version was read, by the store's clock
}

// CatalogVersion returns the current version of the catalogue. ok is false if the store cannot determine the
// version without a query.
func (s *Service) CatalogVersion() (version CatalogVersion, ok bool) { return s.store.CatalogVersion() }

// Validity is the range of catalogue versions for which data read from the catalogue remains correct.
type Validity struct {
	changes     int64
	from, until time.Time
}

// Valid reports whether the version is within the range. A version whose time is before the start of the
// range is outside, because it shows that the clock was set back.
func (v Validity) Valid(version CatalogVersion) bool {
	return v.changes == version.Changes && !version.Time.Before(v.from) && version.Time.Before(v.until)
}

// maxValidity is the longest time that any Validity can cover. It limits the effect if another program has
// changed the database file.
const maxValidity = time.Second

// ValidityFrom returns the validity of data that is read from the catalogue after the given version was
// obtained. The validity ends with the next change, with the next expiry of a hold or after maxValidity,
// whichever comes first. Obtain the version before reading the data. A change in between then ends the
// validity too early, but never too late.
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

// holdExpiry is the time when the next hold expires. This time is valid until an order changes, but no longer
// than maxValidity.
type holdExpiry struct {
	validity Validity
	next     time.Time
}

// nextHold returns the time when the next hold expires, or the zero time if there are no holds. It caches the
// result.
func (s *Service) nextHold(ctx context.Context, version CatalogVersion) (time.Time, error) {
	version.Changes = version.Orders // only changes to orders affect holds
	if cached := s.nextHoldCache.Load(); cached != nil && cached.validity.Valid(version) {
		return cached.next, nil
	}
	next, err := read(ctx, s, ReadTx.NextHold)
	if err == nil {
		s.nextHoldCache.Store(&holdExpiry{Validity{version.Changes, version.Time, version.Time.Add(maxValidity)}, next})
	}
	return next, err
}

// noHoldDue reports whether it is certain that no hold is due. It reads from the store only if nextHold has
// no valid result in its cache.
func (s *Service) noHoldDue(ctx context.Context) (bool, error) {
	version, ok := s.CatalogVersion()
	if !ok {
		return false, nil
	}
	next, err := s.nextHold(ctx, version)
	return !isPast(next, version.Time), err
}
