package shop

import (
	"context"
	"maps"
	"sync"
	"time"
)

// lastSeenPrecision is how much later than the stored time a use of a session must be to be recorded.
const lastSeenPrecision = 30 * time.Second

// lastSeen records in memory when sessions were used on this node, until a background job saves these times. Thus
// showing a page does not have to wait for a write.
type lastSeen struct {
	mu      sync.Mutex
	unsaved map[SecretHash]time.Time
}

func newLastSeen() *lastSeen { return &lastSeen{unsaved: map[SecretHash]time.Time{}} }

func (l *lastSeen) record(session Session, at time.Time) {
	if at.Sub(session.LastSeenAt) < lastSeenPrecision {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsaved[session.ID] = at
}

// apply updates session.LastSeenAt if this node has recorded a later use.
func (l *lastSeen) apply(session *Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.unsaved[session.ID]; at.After(session.LastSeenAt) {
		session.LastSeenAt = at
	}
}

// clamp replaces all recorded times that are later than the given time with the given time. It is called
// after the clock was set back.
func (l *lastSeen) clamp(to time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, at := range l.unsaved {
		if at.After(to) {
			l.unsaved[id] = to
		}
	}
}

// SaveLastSeen stores the times at which sessions were last used on this node.
func (s *Service) SaveLastSeen(ctx context.Context) error {
	s.lastSeen.mu.Lock()
	unsaved := maps.Clone(s.lastSeen.unsaved)
	s.lastSeen.mu.Unlock()
	if len(unsaved) == 0 {
		return nil
	}
	err := s.bookkeep(ctx, func(tx BookkeepingTx) error {
		for id, at := range unsaved {
			if err := tx.SetSessionLastSeen(id, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err // the times stay in memory until the next attempt
	}
	s.lastSeen.mu.Lock()
	defer s.lastSeen.mu.Unlock()
	maps.DeleteFunc(s.lastSeen.unsaved, func(id SecretHash, at time.Time) bool { return unsaved[id].Equal(at) })
	return nil
}
