package shop

import (
	"context"
	"math"
	"sort"
	"sync"
	"time"
)

// feed caches the newest events while readers follow them, so that the load on the store does not grow with
// the number of readers. It never waits for a reader. A reader that falls behind the cache reads from the
// store instead. The field recent holds every event with a position p such that before < p <= last.
type feed struct {
	mu           sync.Mutex
	recent       []Event // sorted by ascending position, with no event missing
	before       int64
	last         int64
	freshAt      time.Time     // the cache contained all events committed before this time
	changed      chan struct{} // closed when events may have been added
	awaited      bool          // whether a reader has obtained the channel in changed
	lastWaiterAt time.Time     // when changed was last closed; the readers woken by it may be about to wait again
}

const (
	// feedSize is the maximum number of events in the cache.
	feedSize = 1000
	// feedPage is the maximum number of events that are read at a time.
	feedPage = 100
	// feedIdle is how long the feed must have no waiting readers before it counts as idle. It is also the
	// minimum time between two refreshes of an idle feed.
	feedIdle = 200 * time.Millisecond
	// maxPullInterval is the maximum time between two pulls. It decides how soon a node sees the events of other nodes if
	// the store's notifications do not arrive.
	maxPullInterval = 250 * time.Millisecond
	// minPullInterval is the minimum time between two pulls. On PostgreSQL, each pull is a commit. Pulling
	// after nearly every change reduced the rate of list requests by a third while animals were being
	// created.
	minPullInterval = 10 * time.Millisecond
)

// newFeed returns an empty feed. Until the first reset, every position counts as older than the cache, so all
// readers read from the store.
func newFeed() *feed {
	return &feed{before: math.MaxInt64, changed: make(chan struct{}), freshAt: time.Now()}
}

// position returns the position of the newest cached event. ok is false until reset is called for the first
// time.
func (f *feed) position() (last int64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.before != math.MaxInt64
}

// reset empties the cache and makes it start after the given position. Readers at earlier positions read from
// the store.
func (f *feed) reset(position int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent, f.before, f.last = nil, position, position
	f.wake()
}

// wake notifies the waiting readers by closing their channel. The caller must hold f.mu.
func (f *feed) wake() {
	if f.awaited {
		close(f.changed)
		f.changed, f.awaited, f.lastWaiterAt = make(chan struct{}), false, time.Now()
	}
}

// signal returns a channel that is closed when events may have been added.
func (f *feed) signal() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.awaited = true
	return f.changed
}

// idle reports whether the feed is idle and whether the cache is fresh. The feed is idle if no reader is
// waiting or has been waiting during the last feedIdle. The cache is fresh if it was complete at some time
// during the last feedIdle.
func (f *feed) idle() (idle, fresh bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.awaited && time.Since(f.lastWaiterAt) >= feedIdle, time.Since(f.freshAt) < feedIdle
}

// append adds events to the cache. The events must directly follow the last cached event.
func (f *feed) append(events []Event) {
	if len(events) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent = append(f.recent, events...)
	f.last = events[len(events)-1].position
	if excess := len(f.recent) - feedSize; excess > 0 {
		f.before = f.recent[excess-1].position
		f.recent = append([]Event(nil), f.recent[excess:]...) // copied because readers may still use the old slice
	}
	f.wake()
}

// after returns the cached events after the given position and the position to continue from. ok is false if
// the cache does not reach back to the given position.
func (f *feed) after(position int64) (events []Event, reached int64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if position < f.before {
		return nil, 0, false
	}
	from := sort.Search(len(f.recent), func(i int) bool { return f.recent[i].position > position })
	return f.recent[from:], max(position, f.last), true
}

// markFresh records that the cache contains all events committed before the given time.
func (f *feed) markFresh(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.freshAt = at
}

// pullEvents publishes the events of committed writes and adds the new events to the feed.
func (s *Service) pullEvents(ctx context.Context) error {
	start := time.Now()
	if err := s.store.Publish(ctx); err != nil {
		return err
	}
	last, started := s.feed.position()
	idle, fresh := s.feed.idle()
	if started && idle && fresh {
		return nil
	}
	if !started || idle { // without readers, skip the events, because reading them all slowed down the creation of animals by a tenth
		last, err := read(ctx, s, Reading{}, ReadTx.LastEvent)
		if err == nil {
			s.feed.reset(last)
			s.feed.markFresh(start)
		}
		return err
	}
	for {
		var horizon int64
		page, err := read(ctx, s, Reading{}, func(tx ReadTx) (Page[Event], error) {
			horizon = 0
			page, err := s.events(tx, EventFilter{}, PageRequest{Limit: feedPage, After: &last})
			// A gap between the positions means that events may have been removed before this node read them.
			if err == nil && len(page.Items) > 0 && page.Items[0].position > last+1 {
				horizon, err = tx.EventHorizon()
			}
			return page, err
		})
		if err != nil {
			return err
		}
		if horizon > last {
			s.feed.reset(horizon)
		}
		s.feed.append(page.Items)
		if !page.More {
			s.feed.markFresh(start)
			return nil
		}
		last = page.Next(Event.Position)
	}
}

// FeedState returns the last position in this node's feed and the time since the feed was last known to be
// complete.
func (s *Service) FeedState() (last int64, lag time.Duration) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.feed.last, time.Since(s.feed.freshAt)
}

// LastEvent returns the position of the newest event. It takes into account every write that completed before
// the call.
func (s *Service) LastEvent(ctx context.Context) (int64, error) {
	if err := s.store.Publish(ctx); err != nil {
		return 0, err
	}
	return read(ctx, s, Reading{}, ReadTx.LastEvent)
}

// EventSignal returns a channel that is closed when events may have been added. Call EventSignal before
// EventsAfter, because events added between the two calls would otherwise be missed.
func (s *Service) EventSignal() <-chan struct{} { return s.feed.signal() }

// RecentEvents is like EventsAfter, but it never reads from the store. ok is false if the events after the
// position are not all in this node's memory.
func (s *Service) RecentEvents(filter EventFilter, position int64) (events []Event, reached int64, ok bool) {
	recent, reached, ok := s.feed.after(position)
	events = []Event{}
	for _, event := range recent {
		if filter.matches(event) {
			events = append(events, event)
		}
		if len(events) == feedPage { // limits the number of events that a slow reader keeps in memory
			return events, event.position, true
		}
	}
	return events, reached, ok
}

// EventsAfter returns the next matching events after a position, oldest first, and the position to continue
// from. If that position differs from the given one, more events may follow. EventsAfter fails with
// events_expired if events after the given position were removed because of their age, or if events up to it
// were undone by a restore.
func (s *Service) EventsAfter(ctx context.Context, by Caller, filter EventFilter, position int64) ([]Event, int64, error) {
	if events, reached, ok := s.RecentEvents(filter, position); ok {
		return events, reached, nil
	}
	type batch struct {
		events  []Event
		reached int64
	}
	result, err := read(ctx, s, Reading{By: by, Heavy: true}, func(tx ReadTx) (batch, error) {
		if _, err := resumePosition(tx, position); err != nil {
			return batch{}, err
		}
		page, err := s.events(tx, filter, PageRequest{Limit: feedPage, After: &position})
		if err != nil {
			return batch{}, err
		}
		if page.More {
			return batch{page.Items, page.Next(Event.Position)}, nil
		}
		last, err := tx.LastEvent()
		return batch{page.Items, max(position, last)}, err
	})
	return result.events, result.reached, err
}

// ResumePosition returns the position from which a reader can continue after EventsAfter has failed with
// events_expired.
func (s *Service) ResumePosition(ctx context.Context, position int64) (int64, error) {
	return read(ctx, s, Reading{}, func(tx ReadTx) (int64, error) {
		resume, err := resumePosition(tx, position)
		if err != nil && AsError(err).Code == EventsExpired {
			err = nil
		}
		return resume, err
	})
}
