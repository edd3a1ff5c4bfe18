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
	Window   bool   // whether this is the version of what the shop window shows, see Reading.Window
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

// set sets v to the validity of data from the snapshot, unless v is nil.
func (v *Validity) set(state CatalogState) {
	if v != nil {
		*v = state.validity()
	}
}
