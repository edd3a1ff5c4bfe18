package web

import (
	"context"
	"sync"
	"time"

	"animalstore/internal/shop"
)

// MaxReplays is the maximum number of replays of past events that read from the store at the same time. Each
// API key has one of them at most, so that one key cannot slow down the reads of others.
const MaxReplays = 2

// turnPause is how many times as long as an operation took its key pauses, if more operations of the same key
// wait. A key with many operations therefore uses a quarter of the time at most.
const turnPause = 3

// KeyTurns makes operations of one kind take turns. Only a few run at the same time, and only one for each API
// key. Others wait, first for the operations of their own key and then for those of other keys. So a key with
// many operations waits longer, and other keys do not.
type KeyTurns struct {
	running chan struct{} // has room for one element for each operation that may run
	mu      sync.Mutex
	byKey   map[int64]*keyTurn
}

// keyTurn belongs to a key that has operations.
type keyTurn struct {
	running chan struct{} // has room for one element
	users   int           // operations that run or wait
}

// NewKeyTurns returns turns for at most max operations at the same time.
func NewKeyTurns(max int) *KeyTurns {
	return &KeyTurns{running: make(chan struct{}, max), byKey: map[int64]*keyTurn{}}
}

// Wait waits until it is this key's turn. The caller must call done at the end of the operation. Wait fails
// with unavailable if the context ends first.
func (t *KeyTurns) Wait(ctx context.Context, principal shop.Principal) (done func(), err error) {
	key := principal.ID()
	turn := t.join(key)
	if !enter(ctx, turn.running) {
		t.leave(key, turn)
		return nil, shop.UnavailableError(ctx.Err())
	}
	if !enter(ctx, t.running) {
		<-turn.running
		t.leave(key, turn)
		return nil, shop.UnavailableError(ctx.Err())
	}
	start := time.Now()
	return func() {
		<-t.running
		if t.othersWait(turn) {
			time.AfterFunc(turnPause*time.Since(start), func() { t.end(key, turn) })
		} else {
			t.end(key, turn)
		}
	}, nil
}

func (t *KeyTurns) end(key int64, turn *keyTurn) {
	<-turn.running
	t.leave(key, turn)
}

func (t *KeyTurns) othersWait(turn *keyTurn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return turn.users > 1
}

// enter waits until there is room in a channel. It reports false if the context ends first.
func enter(ctx context.Context, running chan<- struct{}) bool {
	select {
	case running <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (t *KeyTurns) join(key int64) *keyTurn {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.byKey[key]
	if turn == nil {
		turn = &keyTurn{running: make(chan struct{}, 1)}
		t.byKey[key] = turn
	}
	turn.users++
	return turn
}

func (t *KeyTurns) leave(key int64, turn *keyTurn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn.users--; turn.users == 0 {
		delete(t.byKey, key)
	}
}
