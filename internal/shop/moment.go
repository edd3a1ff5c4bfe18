package shop

import (
	"context"
	"time"
)

// Moment is a state of the catalogue, seen from outside: how often it has changed, and when that was.
type Moment struct {
	Changes int64
	Orders  int64     // how often orders have changed
	Time    time.Time // of the clock by which holds run out
}

// Moment tells which catalogue there is now; ok is false where that cannot be known without reading it.
func (s *Service) Moment() (m Moment, ok bool) { return s.store.Moment() }

// Term is for how long something holds that was read from the catalogue.
type Term struct {
	changes     int64
	from, until time.Time
}

// Holds tells whether what was read is still so. Nothing holds before it was read: the clock was put back.
func (t Term) Holds(now Moment) bool {
	return t.changes == now.Changes && !now.Time.Before(t.from) && now.Time.Before(t.until)
}

// longestTerm bounds how long something holds, whatever is known: somebody may have changed the file by hand.
const longestTerm = time.Second

// TermFrom returns for how long something holds that is read after a moment: until the catalogue changes, or a hold runs out.
func (s *Service) TermFrom(ctx context.Context, m Moment) (Term, error) {
	next, err := s.nextHold(ctx, m)
	if err != nil {
		return Term{}, err
	}
	until := m.Time.Add(longestTerm)
	if !next.IsZero() && next.Before(until) {
		until = next
	}
	return Term{m.Changes, m.Time, until}, nil
}

// hold is when the next hold runs out, as long as no order changes.
type hold struct {
	term Term
	next time.Time
}

// nextHold returns when the next hold runs out of those that there are at a moment, or the zero time.
func (s *Service) nextHold(ctx context.Context, m Moment) (time.Time, error) {
	m.Changes = m.Orders // it does not depend on others
	if known := s.hold.Load(); known != nil && known.term.Holds(m) {
		return known.next, nil
	}
	next, err := read(ctx, s, ReadTx.NextHold)
	if err == nil {
		s.hold.Store(&hold{Term{m.Changes, m.Time, m.Time.Add(longestTerm)}, next})
	}
	return next, err
}

// isSettled tells whether no hold is over, where that is known without reading.
func (s *Service) isSettled(ctx context.Context) (bool, error) {
	now, ok := s.Moment()
	if !ok {
		return false, nil
	}
	next, err := s.nextHold(ctx, now)
	return !passed(next, now.Time), err
}
