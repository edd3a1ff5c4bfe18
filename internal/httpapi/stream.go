package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"animalstore/internal/shop"
)

const (
	// heartbeat is how long a stream is silent at most, so that everybody on the way knows that it lives.
	heartbeat = 15 * time.Second
	// streamCheck is how often a stream looks whether it may go on.
	streamCheck = 500 * time.Millisecond
	// streamPatience is how long a reader may take with what it was sent, before it is cut off. It can resume.
	streamPatience = 15 * time.Second
	// stopPatience is how long it may take when this node stops.
	stopPatience = time.Second
	// streamRetry is how soon a browser comes back to a stream that has ended.
	streamRetry = 2 * time.Second
	// streamBuffer is how much is sent to a reader at a time: one that takes nothing costs no more than this.
	streamBuffer = 16 << 10
)

// streamPace is how long a stream is silent at most, and how long it waits for its reader.
type streamPace struct{ heartbeat, patience time.Duration }

// stream is one client that follows the feed. Nothing is kept for it but its place: what it has not been sent yet, it is
// sent when it can take it, from the memory that all streams share, or from the store.
type stream struct {
	*call
	position int64 // all up to here was sent
	told     int64 // the last position that the client knows of
	written  time.Time
	checked  time.Time
	mu       sync.Mutex // for what follows
	patience time.Duration
	ended    bool
}

// streamEvents sends the events after a position, and then all others as they happen, until one side ends it.
func (a *API) streamEvents(c *call, filter shop.EventFilter, after *int64) error {
	if a.isStopping() {
		return shop.Errorf(shop.Unavailable, "This node is about to stop; try again shortly.")
	}
	leave, err := a.streams.take(c.principal.ID())
	if err != nil {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
		return err
	}
	defer leave()
	position, err := a.streamStart(c, after)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would keep events back
	c.leave()
	if c.r.Method == http.MethodHead {
		c.begin(http.StatusOK)
		return nil
	}
	c.streamed = true
	a.metrics.inFlight.Dec()
	defer a.metrics.inFlight.Inc()
	a.metrics.streams.Inc()
	defer a.metrics.streams.Dec()
	s := &stream{call: c, patience: a.pace.patience, position: position, told: -1, checked: time.Now()}
	defer s.end()
	defer context.AfterFunc(a.running, s.hurry)()
	if !s.write(fmt.Appendf(nil, "retry: %d\n%s\n", streamRetry.Milliseconds(), s.id())) {
		return nil
	}
	a.follow(s, filter)
	return nil
}

// streamStart is where a stream begins: where the client's last one ended, else where it says, else now.
func (a *API) streamStart(c *call, after *int64) (int64, error) {
	if fields := c.r.Header.Values("Last-Event-ID"); len(fields) > 0 && fields[0] != "" {
		position, ok := parsePosition(fields[0])
		if !ok || len(fields) > 1 {
			return 0, shop.Errorf(shop.InvalidParameter, "The Last-Event-ID cannot be read; send it once, with the id of an event: 1 to 18 digits.")
		}
		return position, nil
	}
	if after != nil {
		return *after, nil
	}
	return a.Service.LastEvent(c.r.Context())
}

// follow sends events until the client has gone, its key is no longer good, or this node stops.
func (a *API) follow(s *stream, filter shop.EventFilter) {
	for {
		news := a.Service.EventSignal() // before looking: what comes after that is not missed
		sent, ok := a.sendEvents(s, filter)
		if !ok || !a.mayGoOn(s) {
			return
		}
		if sent {
			continue
		}
		if time.Since(s.written) >= a.pace.heartbeat && !s.write([]byte(":\n"+s.id()+"\n")) {
			return
		}
		select {
		case <-news:
		case <-time.After(streamCheck):
		case <-a.running.Done():
			return
		case <-s.r.Context().Done():
			return
		}
	}
}

// sendEvents sends the next events and tells whether there were any, and whether the stream can go on. A store that is away
// ends no stream: it goes on when the store does.
func (a *API) sendEvents(s *stream, filter shop.EventFilter) (sent, ok bool) {
	events, reached, err := a.Service.EventsAfter(s.r.Context(), filter, s.position)
	if err != nil {
		if shop.AsError(err).Code != shop.EventsExpired {
			return false, true
		}
		return a.reset(s, err)
	}
	var text bytes.Buffer
	for i, event := range events {
		fmt.Fprintf(&text, "id: %s\ndata: %s\n\n", event.ID, encode(event))
		if i == len(events)-1 || text.Len() >= streamBuffer {
			if !s.write(text.Bytes()) {
				return true, false
			}
			text.Reset()
			s.told = event.Position()
			if !a.mayGoOn(s) { // a slow reader makes this take long
				return true, false
			}
		}
	}
	s.position = reached
	return len(events) > 0, true
}

// reset tells a client that some of what it has not seen is gone, or that some of what it has seen was undone, and goes on with
// the oldest that it can go on with.
func (a *API) reset(s *stream, expired error) (sent, ok bool) {
	goOn, err := a.Service.ResumePosition(s.r.Context(), s.position)
	if err != nil {
		return false, true
	}
	s.position = goOn
	return true, s.write(fmt.Appendf(nil, "event: reset\n%sdata: %s\n\n", s.id(), encode(bodyOf(shop.AsError(expired)))))
}

// mayGoOn tells whether the key still opens what is streamed. It looks from time to time, and not where the store is away.
func (a *API) mayGoOn(s *stream) bool {
	if time.Since(s.checked) < streamCheck {
		return s.r.Context().Err() == nil && !a.isStopping()
	}
	s.checked = time.Now()
	return a.stillOpens(s.call)
}

// stillOpens tells whether the key of a request is still a good one, as far as the store can tell.
func (a *API) stillOpens(c *call) bool {
	secret, err := bearer(c.r.Header.Values("Authorization"))
	if err == nil {
		_, err = a.Service.Authenticate(c.r.Context(), secret)
	}
	return err == nil || shop.AsError(err).Code == shop.Unavailable
}

// id is the line that tells the client where it is, or nothing where it knows.
func (s *stream) id() string {
	if s.told == s.position {
		return ""
	}
	s.told = s.position
	return fmt.Sprintf("id: %d\n", s.position)
}

// write sends some whole blocks, and tells whether the client took them. There is no limit on what comes after that: HTTP/2
// would end a stream that is silent for that long.
func (s *stream) write(blocks []byte) bool {
	s.mu.Lock()
	s.limit()
	s.mu.Unlock()
	s.written = time.Now()
	_, err := s.w.Write(blocks)
	taken := err == nil && http.NewResponseController(s.w).Flush() == nil
	s.mu.Lock()
	defer s.mu.Unlock()
	http.NewResponseController(s.w).SetWriteDeadline(time.Time{})
	return taken
}

// limit says until when the client must have taken what it is sent.
func (s *stream) limit() {
	http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(s.patience)) // what has none needs none
}

// hurry leaves the client little time, also for what it is being sent.
func (s *stream) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.patience = min(s.patience, stopPatience)
		s.limit()
	}
}

// end lets nobody touch the connection any more: it may belong to another request. The last bytes, which say that this was
// all, are still to be taken.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit()
	s.ended = true
}
