package engine

import "time"

// steps contains the writes that are not interactive, and the clock that limits their time.
//
// Imports and background work share this time: after an import, background steps come first until they have taken as
// long as the import. So a key that sends one import after another does not hold up the expiry of holds or the search
// index for longer than one import and the pause after it.
type steps struct {
	bulk, background turns
	running          *Write // the step that was taken last, or nil if it has ended
	began, ended     time.Time
	owed             time.Duration // how long background steps may take before the next import
}

func (s *steps) waiting() int { return s.bulk.n + s.background.n }

// begin takes the next step.
func (s *steps) begin() *Write {
	from := &s.bulk
	if s.background.n > 0 && (s.owed > 0 || s.bulk.n == 0) {
		from = &s.background
	}
	s.running, s.began = from.take(), time.Now()
	return s.running
}

// end records the end of the step that is running, if there is one.
func (s *steps) end() {
	if s.running == nil {
		return
	}
	s.ended = time.Now()
	if took := s.ended.Sub(s.began); s.running.Priority == Bulk {
		s.owed = took
	} else {
		s.owed -= took
	}
	s.running = nil
}

// pause returns how long it takes until the next step is due, if interactive writes were last seen at the given time.
func (s *steps) pause(seen time.Time) time.Duration {
	took := s.ended.Sub(s.began)
	return max(0, min(time.Until(s.ended.Add(3*took)), time.Until(seen.Add(4*took))))
}
