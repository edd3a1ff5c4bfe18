package shop

import (
	"context"
	"sync"
	"time"
)

// uses remembers when each key was last used on this node. They are kept to the minute, so they are written down from
// time to time, and a use never costs a write of its own.
type uses struct {
	mu      sync.Mutex
	last    map[int64]time.Time
	unsaved map[int64]time.Time
}

func newUses() *uses { return &uses{last: map[int64]time.Time{}, unsaved: map[int64]time.Time{}} }

func (u *uses) note(id int64, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last[id], u.unsaved[id] = at, at
}

// freshen shows a use that is not written down yet.
func (u *uses) freshen(key *Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, ok := u.last[key.ID]; ok && last.After(key.LastUsedAt) {
		key.LastUsedAt = last
	}
}

func (u *uses) takeUnsaved() map[int64]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.unsaved
	u.unsaved = map[int64]time.Time{}
	return taken
}

// SaveLastUsed writes down when keys were last used.
func (s *Service) SaveLastUsed(ctx context.Context) error {
	unsaved := s.uses.takeUnsaved()
	if len(unsaved) == 0 {
		return nil
	}
	err := s.bookkeep(ctx, func(tx BookkeepingTx) error {
		for id, at := range unsaved {
			if err := tx.SetKeyLastUsed(id, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.uses.giveBack(unsaved)
	}
	return err
}

// setBack takes no use for later than a time: the clock that noted it was put back.
func (u *uses) setBack(to time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, noted := range []map[int64]time.Time{u.last, u.unsaved} {
		for id, at := range noted {
			if at.After(to) {
				noted[id] = to
			}
		}
	}
}

// forget drops what was noted of a key that is no more.
func (u *uses) forget(id int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.last, id)
	delete(u.unsaved, id)
}

// giveBack keeps what could not be saved, unless a later use has come.
func (u *uses) giveBack(unsaved map[int64]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range unsaved {
		if _, later := u.unsaved[id]; !later {
			u.unsaved[id] = at
		}
	}
}
