package shop

import (
	"context"
	"sync"
	"time"
)

// lastUsed records in memory when each key was last used on this node. A background job saves the uses, so that
// authenticating a request does not write.
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

// apply sets the key's LastUsedAt to the last use on this node if that is later.
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

// requeue returns uses that could not be saved. A use that was recorded since is later and wins.
func (u *lastUsed) requeue(unsaved map[int64]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, at := range unsaved {
		if _, later := u.unsaved[id]; !later {
			u.unsaved[id] = at
		}
	}
}

// clamp moves all later uses back to a time, after the clock was set back.
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

// forget drops the uses of a revoked key.
func (u *lastUsed) forget(id int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.last, id)
	delete(u.unsaved, id)
}

// SaveLastUsed stores when keys were last used on this node.
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
