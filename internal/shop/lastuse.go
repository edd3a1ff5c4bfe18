package shop

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// lastSeenPrecision is how much later than the stored time a use of a session must be to be recorded.
const lastSeenPrecision = 30 * time.Second

// lastUsesAtOnce is the maximum number of times that one transaction stores.
const lastUsesAtOnce = 200

// lastUses records in memory when keys or sessions were last used on this node, until a background job saves
// these times. Thus a request does not have to wait for a write.
type lastUses[ID comparable] struct {
	mu      sync.Mutex
	unsaved map[ID]time.Time
	saved   map[ID]time.Time // what the last save stored; a read that began before that save still needs it
}

func newLastUses[ID comparable]() *lastUses[ID] { return &lastUses[ID]{unsaved: map[ID]time.Time{}} }

func (u *lastUses[ID]) record(id ID, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unsaved[id] = at
}

// of returns when id was last used. That is the stored time, unless this node knows of a later use.
func (u *lastUses[ID]) of(id ID, stored time.Time) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return latest(stored, latest(u.saved[id], u.unsaved[id]))
}

// save stores the recorded times with set. If that fails, they stay recorded until the next attempt.
func (u *lastUses[ID]) save(ctx context.Context, s *Service, set func(tx BookkeepingTx, id ID, at time.Time) error) error {
	u.mu.Lock()
	uses := maps.Clone(u.unsaved)
	u.mu.Unlock()
	for ids := range slices.Chunk(slices.Collect(maps.Keys(uses)), lastUsesAtOnce) {
		err := s.inBackground(ctx, func(tx BookkeepingTx) error {
			for _, id := range ids {
				if err := set(tx, id, uses[id]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	left := map[ID]time.Time{} // a new map, because a map does not shrink
	for id, at := range u.unsaved {
		if !uses[id].Equal(at) { // used again since then
			left[id] = at
		}
	}
	u.saved, u.unsaved = uses, left
	return nil
}

// SaveLastUses stores the times at which keys and sessions were last used on this node.
func (s *Service) SaveLastUses(ctx context.Context) error {
	if err := s.keyUses.save(ctx, s, BookkeepingTx.SetKeyLastUsed); err != nil {
		return err
	}
	return s.sessionUses.save(ctx, s, BookkeepingTx.SetSessionLastSeen)
}
