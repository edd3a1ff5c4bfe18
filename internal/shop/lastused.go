package shop

import (
	"context"
	"sync"
	"time"
)

// lastUsed remembers when each key was last used on this node. They are kept to the minute, so they are written down from
// time to time, and a use never costs a write of its own.
type lastUsed struct {
	mu      sync.Mutex
	last    map[int64]time.Time
	unsaved map[int64]time.Time
}

func newLastUsed() *lastUsed {
	return &lastUsed{last: map[int64]time.Time{}, unsaved: map[int64]time.Time{}}
}

func (u *lastUsed) record(id int64, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last[id], u.unsaved[id] = at, at
}

// apply shows a use that is not written down yet.
func (u *lastUsed) apply(key *Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, ok := u.last[key.ID]; ok && last.After(key.LastUsedAt) {
		key.LastUsedAt = last
	}
}

func (u *lastUsed) takeUnsaved() map[int64]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.unsaved
	u.unsaved = map[int64]time.Time{}
	return taken
}

// SaveLastUsed writes down when keys were last used.
func (s *Service) SaveLastUsed(ctx context.Context) error {
	unsaved := s.lastUsed.takeUnsaved()
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
		s.lastUsed.requeue(unsaved)
	}
	return err
}

// clamp takes no use for later than a time: the clock that noted it was put back.
func (u *lastUsed) clamp(to time.Time) {
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
func (u *lastUsed) forget(id int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.last, id)
	delete(u.unsaved, id)
}

// requeue keeps what could not be saved, unless a later use has come.
func (u *lastUsed) requeue(unsaved map[int64]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range unsaved {
		if _, later := u.unsaved[id]; !later {
			u.unsaved[id] = at
		}
	}
}
