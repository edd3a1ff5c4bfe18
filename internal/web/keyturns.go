package web

import (
	"context"
	"sync"
	"time"

	"animalstore/internal/shop"
)

// turnPause is how long an API key must wait after an operation if more of its operations are waiting, as a multiple of
// the operation's duration. A key with many operations is therefore active for at most a quarter of the time.
const turnPause = 3

// KeyTurns makes operations of one kind take turns. Only a few run at the same time, and only one for each API key.
// The others wait, first for the operations of their own key and then for those of other keys. A key with many
// operations therefore delays itself, but not other keys.
type KeyTurns struct {
	running chan struct{} // one element for each running operation; its capacity is the limit
	mu      sync.Mutex
	byKey   map[int64]*keyTurn
}

// keyTurn is the state of a key that has operations.
type keyTurn struct {
	running chan struct{} // holds an element while one of the key's operations has the turn, or during a pause
	users   int           // the number of operations that are running or waiting
}

// NewKeyTurns returns a KeyTurns that lets at most max operations run at the same time.
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

// enter waits until the channel has room and adds an element. It returns false if the context ends first.
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
