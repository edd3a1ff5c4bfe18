package shop

import (
	"context"
	"sync"
	"time"
)

// lastUsed records in memory when each key was last used on this node. A background job saves these times, so
// that authenticating a request does not require a write.
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

// apply updates key.LastUsedAt if this node has recorded a later use of the key.
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
	unsaved := u.unsaved
	u.unsaved = map[int64]time.Time{}
	return unsaved
}

// requeue puts back uses that could not be saved. If a key was used again in the meantime, the later use is
// kept.
func (u *lastUsed) requeue(unsaved map[int64]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range unsaved {
		if _, later := u.unsaved[id]; !later {
			u.unsaved[id] = at
		}
	}
}

// clamp replaces all recorded times that are later than the given time with the given time. It is called
// after the clock was set back.
func (u *lastUsed) clamp(to time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, uses := range []map[int64]time.Time{u.last, u.unsaved} {
		for id, at := range uses {
			if at.After(to) {
				uses[id] = to
			}
		}
	}
}

// forget discards the recorded uses of a revoked key.
func (u *lastUsed) forget(id int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.last, id)
	delete(u.unsaved, id)
}

// SaveLastUsed stores the times at which keys were last used on this node.
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
