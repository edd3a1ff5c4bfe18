package shop

import (
	"context"
	"math"
	"sort"
	"sync"
	"time"
)

// feed keeps the newest events in memory while somebody follows them, so that any number of readers can do so without asking
// the store. It never waits for a reader: one that falls behind reads from the store again.
type feed struct {
	mu           sync.Mutex
	recent       []Event       // in their order, none left out
	before       int64         // recent begins after this position
	last         int64         // and ends with this one
	freshAt      time.Time     // it had all that there was at this time
	changed      chan struct{} // closed when there is more
	awaited      bool          // by somebody, since it was made
	lastWaiterAt time.Time     // when somebody had waited last, who may be about to again
}

const (
	// feedSize is how many events are kept in memory.
	feedSize = 1000
	// feedPage is how many are read at a time.
	feedPage = 100
	// feedIdle is how long the feed is left alone while nobody waits for it, and how long after somebody did that begins.
	feedIdle = 200 * time.Millisecond
	// pullInterval is how long it is left alone after it was brought up to date. On a server that is a commit of its own: with one for
	// nearly every change, 1,400 lists a second were answered beside 1,000 creates, over one connection, and now it is 2,200.
	pullInterval = 10 * time.Millisecond
)

// newFeed begins with nothing: until its first events are there, every reader is one that has fallen behind.
func newFeed() *feed {
	return &feed{before: math.MaxInt64, changed: make(chan struct{}), freshAt: time.Now()}
}

// position tells whether the feed follows the store, and up to which position.
func (f *feed) position() (last int64, begun bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.before != math.MaxInt64
}

// reset makes the feed follow the store after a position. Who has not come as far reads from the store.
func (f *feed) reset(position int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent, f.before, f.last = nil, position, position
	f.wake()
}

// wake tells whoever waits that there may be more.
func (f *feed) wake() {
	if f.awaited {
		close(f.changed)
		f.changed, f.awaited, f.lastWaiterAt = make(chan struct{}), false, time.Now()
	}
}

// signal returns a channel that is closed when there may be more.
func (f *feed) signal() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.awaited = true
	return f.changed
}

// idle tells whether nobody waits or did a moment ago, and whether the feed was up to date a moment ago.
func (f *feed) idle() (idle, fresh bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.awaited && time.Since(f.lastWaiterAt) >= feedIdle, time.Since(f.freshAt) < feedIdle
}

// append adds what came after the last.
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
		f.recent = append([]Event(nil), f.recent[excess:]...) // readers may still hold the old ones
	}
	f.wake()
}

// after returns the events after a position, and the position that they reach; false where it is too long ago.
func (f *feed) after(position int64) ([]Event, int64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if position < f.before {
		return nil, 0, false
	}
	from := sort.Search(len(f.recent), func(i int) bool { return f.recent[i].position > position })
	return f.recent[from:], max(position, f.last), true
}

// markFresh notes that the feed had all that there was at a time.
func (f *feed) markFresh(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.freshAt = at
}

// pullEvents brings the feed up to date.
func (s *Service) pullEvents(ctx context.Context) error {
	start := time.Now()
	if err := s.store.Publish(ctx); err != nil {
		return err
	}
	last, begun := s.feed.position()
	idle, fresh := s.feed.idle()
	if begun && idle && fresh {
		return nil
	}
	if !begun || idle { // nobody would read what came meanwhile; to keep it up took a tenth of the time of many creates
		last, err := read(ctx, s, ReadTx.LastEvent)
		if err == nil {
			s.feed.reset(last)
			s.feed.markFresh(start)
		}
		return err
	}
	for {
		var horizon int64
		events, err := read(ctx, s, func(tx ReadTx) ([]Event, error) {
			horizon = 0
			events, err := s.events(tx, EventFilter{}, PageRequest{Limit: feedPage, After: &last})
			if err == nil && len(events) > 0 && events[0].position > last+1 { // some may have gone before we saw them
				horizon, err = tx.EventHorizon()
			}
			return events, err
		})
		if err != nil {
			return err
		}
		if horizon > last {
			s.feed.reset(horizon)
		}
		s.feed.append(events)
		if len(events) < feedPage {
			s.feed.markFresh(start)
			return nil
		}
		last = events[len(events)-1].position
	}
}

// FeedState tells how far this node's feed has come, and how long ago it had all that there was.
func (s *Service) FeedState() (last int64, lag time.Duration) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.feed.last, time.Since(s.feed.freshAt)
}

// LastEvent returns the position of the newest event of all that was answered before.
func (s *Service) LastEvent(ctx context.Context) (int64, error) {
	if err := s.store.Publish(ctx); err != nil {
		return 0, err
	}
	return read(ctx, s, ReadTx.LastEvent)
}

// EventSignal returns a channel that is closed when there are more events than now. Whoever waits takes it before looking.
func (s *Service) EventSignal() <-chan struct{} { return s.feed.signal() }

// EventsAfter returns the next events after a position, oldest first, and the position to go on from. There may be more
// where it returns any. It returns events_expired where some have been removed for their age, or undone.
func (s *Service) EventsAfter(ctx context.Context, filter EventFilter, position int64) ([]Event, int64, error) {
	if recent, reached, ok := s.feed.after(position); ok {
		events := []Event{}
		for _, event := range recent {
			if filter.matches(event) {
				events = append(events, event)
			}
			if len(events) == feedPage { // a slow reader keeps no more than that
				return events, event.position, nil
			}
		}
		return events, reached, nil
	}
	type part struct {
		events  []Event
		reached int64
	}
	got, err := read(ctx, s, func(tx ReadTx) (part, error) {
		if _, err := resumePosition(tx, position); err != nil {
			return part{}, err
		}
		events, err := s.events(tx, filter, PageRequest{Limit: feedPage, After: &position})
		if err != nil {
			return part{}, err
		}
		if len(events) == feedPage {
			return part{events, events[feedPage-1].position}, nil
		}
		last, err := tx.LastEvent()
		return part{events, max(position, last)}, err
	})
	return got.events, got.reached, err
}

// ResumePosition returns the position from which a reader goes on whose own is gone.
func (s *Service) ResumePosition(ctx context.Context, position int64) (int64, error) {
	return read(ctx, s, func(tx ReadTx) (int64, error) {
		goOn, err := resumePosition(tx, position)
		if err != nil && AsError(err).Code == EventsExpired {
			err = nil
		}
		return goOn, err
	})
}
