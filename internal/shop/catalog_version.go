package shop

import (
	"context"
	"time"
)

// CatalogVersion identifies a state of the catalogue and of the orders. Equal versions have equal contents. The
// zero value means that the state is not known.
type CatalogVersion struct {
	Changes  int64  // distinguishes the states that this process knows to be different
	Snapshot string // distinguishes the states of a database that other processes change, too
}

// CatalogState describes the snapshot that a read used.
type CatalogState struct {
	Version  CatalogVersion
	Time     time.Time // the time of the store's clock when the snapshot was taken or shortly after
	NextHold time.Time // when the next hold expires; zero if there are no holds
}

// StateIn reads the time and the next expiry of a hold in a transaction and returns them as a CatalogState. It leaves
// the version zero.
func StateIn(tx ReadTx) (CatalogState, error) {
	next, err := tx.NextHold()
	if err != nil {
		return CatalogState{}, err
	}
	now, err := tx.Now()
	return CatalogState{Time: now, NextHold: next}, err
}

// isDue reports whether the snapshot contains a hold whose time is over but whose order has not been expired yet.
func (s CatalogState) isDue() bool { return isPast(s.NextHold, s.Time) }

// Validity says how long data that was read from the catalogue remains correct: as long as the catalogue has the same
// version and the time is in the given range. Data with the zero Validity is never correct.
type Validity struct {
	version     CatalogVersion
	from, until time.Time
}

// maxValidity is the longest time that any Validity can cover. It limits how long the service may miss a change that
// another program makes to a database file.
const maxValidity = time.Second

// validity returns the validity of data from the snapshot. It ends with the next change, with the next expiry of a
// hold or after maxValidity, whichever comes first.
func (s CatalogState) validity() Validity {
	if s.Version == (CatalogVersion{}) {
		return Validity{}
	}
	until := s.Time.Add(maxValidity)
	if !s.NextHold.IsZero() && s.NextHold.Before(until) {
		until = s.NextHold
	}
	return Validity{s.Version, s.Time, until}
}

// contains reports whether data with this validity is correct if the catalogue has the given version at the given time.
// It returns false if the time is before the range, because the clock must then have been set back.
func (v Validity) contains(version CatalogVersion, now time.Time) bool {
	return v.version == version && !now.Before(v.from) && now.Before(v.until)
}

// IsValid reports whether data with the given validity is correct at some time during the call. If that is in
// doubt, it returns false.
func (s *Service) IsValid(ctx context.Context, v Validity) bool {
	if v == (Validity{}) {
		return false
	}
	version, now := s.store.CurrentVersion(ctx, v.version)
	return v.contains(version, now)
}

type validityKey struct{}

// WithValidity returns a context for one read of the catalogue. When the read has succeeded, the returned Validity is
// set to the validity of the result. It remains zero if the result must not be reused.
func WithValidity(ctx context.Context) (context.Context, *Validity) {
	v := &Validity{}
	return context.WithValue(ctx, validityKey{}, v), v
}

// WantsValidity reports whether the context comes from WithValidity.
func WantsValidity(ctx context.Context) bool { return ctx.Value(validityKey{}) != nil }

func setValidity(ctx context.Context, state CatalogState) {
	if v, ok := ctx.Value(validityKey{}).(*Validity); ok {
		*v = state.validity()
	}
}
