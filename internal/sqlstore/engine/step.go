package engine

import (
	"time"

	"animalstore/internal/admission"
)

// steps contains the writes that are not interactive, and the clock that limits their time.
//
// Imports and background work share this time: after an import, background steps come first until they have taken as
// long as the import. So a key that sends one import after another does not hold up the expiry of holds or the search
// index for longer than one import and the pause after it.
type steps struct {
	bulk, background admission.Turns[*Write]
	running          *Write // the step that was taken last, or nil if it has ended
	began, ended     time.Time
	owed             time.Duration // how long background steps may take before the next import
}

func (s *steps) waiting() int { return s.bulk.Len() + s.background.Len() }

// begin takes the next step. There must be one.
func (s *steps) begin() *Write {
	from := &s.bulk
	if s.background.Len() > 0 && (s.owed > 0 || s.bulk.Len() == 0) {
		from = &s.background
	}
	_, s.running, _ = from.Take(nil)
	s.began = time.Now()
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

// pause returns how long it takes until the next step is due. It gets the time of the last interactive write.
func (s *steps) pause(lastInteractive time.Time) time.Duration {
	took := s.ended.Sub(s.began)
	return max(0, min(time.Until(s.ended.Add(3*took)), time.Until(lastInteractive.Add(4*took))))
}
