package shop

import (
	"context"
	"time"
)

// Moment is a state of the catalogue, seen from outside: how often it has changed, and when that was.
type Moment struct {
	Changes int64
	Time    time.Time // of the clock by which holds run out
}

// Moment tells which catalogue there is now; ok is false where that cannot be known without reading it.
func (s *Service) Moment() (m Moment, ok bool) { return s.store.Moment() }

// Term is for how long something holds that was read from the catalogue.
type Term struct {
	changes int64
	until   time.Time
}

// Holds tells whether what was read is still so.
func (t Term) Holds(now Moment) bool { return t.changes == now.Changes && now.Time.Before(t.until) }

// longestTerm bounds how long something holds, whatever is known: somebody may have changed the file by hand.
const longestTerm = time.Second

// TermFrom returns for how long something holds that is read after a moment: until the catalogue changes, or a hold runs out.
func (s *Service) TermFrom(ctx context.Context, m Moment) (Term, error) {
	next, err := read(ctx, s, ReadTx.NextHold)
	if err != nil {
		return Term{}, err
	}
	until := m.Time.Add(longestTerm)
	if !next.IsZero() && next.Before(until) {
		until = next
	}
	return Term{m.Changes, until}, nil
}
