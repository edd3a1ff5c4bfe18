package shop

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Places limits how many calls run at the same time. Each of them takes a place, and one API key can take only some of
// the places. Keys with waiting calls take turns, one place at a time, so a key with many calls delays only its own
// calls.
type Places struct {
	places        int
	perKey        int // the maximum number of places for one key
	maxWaiting    int // the maximum number of calls that may wait for a place, or 0 if there is no limit
	maxKeyWaiting int // the same limit for the calls of one key
	mu            sync.Mutex
	running       int
	runningBy     map[string]int
	waiting       int
	waitingBy     map[string][]chan struct{} // by key: a channel per waiting call, closed when the call gets a place
	turns         []string                   // the keys in waitingBy, in the order of their turns
}

// errQueueFull and errKeyQueueFull mean that too many calls are already waiting, in total or with the same key.
var (
	errQueueFull    = errors.New("too many calls are waiting")
	errKeyQueueFull = errors.New("too many calls with the same key are waiting")
)

// NewPlaces returns the given number of places. One key can take at most perKey of them at the same time.
func NewPlaces(places, perKey int) *Places {
	return &Places{places: places, perKey: perKey, runningBy: map[string]int{}, waitingBy: map[string][]chan struct{}{}}
}

// Acquire waits for a place. If it returns nil, the caller must call Release with the same key. It fails if ctx ends,
// or if too many calls are waiting.
func (p *Places) Acquire(ctx context.Context, key string) error {
	place, err := p.enqueue(key)
	if err != nil || place == nil {
		return err
	}
	select {
	case <-place:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waitingBy[key], place)
	if i < 0 { // the call got its place just before it gave up
		return nil
	}
	p.remove(key, i)
	return ctx.Err()
}

// enqueue takes a free place and returns nil. If there is none, it joins the queue and returns a channel that is
// closed when the call gets a place.
func (p *Places) enqueue(key string) (chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.hasPlace(key): // nobody else is waiting for this place, because Release passes on a free place at once
		p.take(key)
		return nil, nil
	case p.maxKeyWaiting > 0 && len(p.waitingBy[key]) >= p.maxKeyWaiting:
		return nil, errKeyQueueFull
	case p.maxWaiting > 0 && p.waiting >= p.maxWaiting:
		return nil, errQueueFull
	}
	place := make(chan struct{})
	if len(p.waitingBy[key]) == 0 {
		p.turns = append(p.turns, key)
	}
	p.waitingBy[key] = append(p.waitingBy[key], place)
	p.waiting++
	return place, nil
}

// Release frees a place and passes it on to the next waiting call that may take it.
func (p *Places) Release(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	if p.runningBy[key]--; p.runningBy[key] == 0 {
		delete(p.runningBy, key)
	}
	i := slices.IndexFunc(p.turns, p.hasPlace)
	if i < 0 {
		return
	}
	next := p.turns[i]
	place := p.waitingBy[next][0]
	p.turns = append(slices.Delete(p.turns, i, i+1), next) // the next turn of this key comes after all others
	p.remove(next, 0)
	p.take(next)
	close(place)
}

// hasPlace reports whether there is a free place that this key may take. The caller must hold the lock.
func (p *Places) hasPlace(key string) bool {
	return p.running < p.places && p.runningBy[key] < p.perKey
}

// take counts a place as taken. The caller must hold the lock.
func (p *Places) take(key string) {
	p.running++
	p.runningBy[key]++
}

// remove removes a call from the queue of its key. The caller must hold the lock.
func (p *Places) remove(key string, i int) {
	p.waiting--
	if p.waitingBy[key] = slices.Delete(p.waitingBy[key], i, i+1); len(p.waitingBy[key]) == 0 {
		delete(p.waitingBy, key)
		p.turns = slices.DeleteFunc(p.turns, func(other string) bool { return other == key })
	}
}
