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
	// heartbeatInterval is how long a stream is silent at most, so that everybody on the way knows that it lives.
	heartbeatInterval = 15 * time.Second
	// keyCheckInterval is how often a stream looks whether it may go on.
	keyCheckInterval = 500 * time.Millisecond
	// streamWriteTimeout is how long a reader may take with what it was sent, before it is cut off. It can resume.
	streamWriteTimeout = 15 * time.Second
	// shutdownWriteTimeout is how long it may take when this node stops.
	shutdownWriteTimeout = time.Second
	// streamRetry is how soon a browser comes back to a stream that has ended.
	streamRetry = 2 * time.Second
	// streamBuffer is how much is sent to a reader at a time: one that takes nothing costs no more than this.
	streamBuffer = 16 << 10
)

// streamTiming is how long a stream is silent at most, and how long it waits for its reader.
type streamTiming struct{ heartbeat, writeTimeout time.Duration }

// stream is one client that follows the feed. Nothing is kept for it but its place: what it has not been sent yet, it is
// sent when it can take it, from the memory that all streams share, or from the store.
type stream struct {
	*exchange
	position     int64 // all up to here was sent
	announced    int64 // the last position that the client knows of
	lastWrite    time.Time
	lastCheck    time.Time
	mu           sync.Mutex // for what follows
	writeTimeout time.Duration
	closed       bool
}

// streamEvents sends the events after a position, and then all others as they happen, until one side ends it.
func (a *API) streamEvents(x *exchange, filter shop.EventFilter, after *int64) error {
	if a.isStopping() {
		return shop.Errorf(shop.Unavailable, "This node is about to stop; try again shortly.")
	}
	leave, err := a.streams.acquire(x.principal.ID())
	if err != nil {
		x.w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
		return err
	}
	defer leave()
	position, err := a.streamStart(x, after)
	if err != nil {
		return err
	}
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would keep events back
	x.release()
	if x.r.Method == http.MethodHead {
		x.writeHeader(http.StatusOK)
		return nil
	}
	x.streamed = true
	a.metrics.inFlight.Dec()
	defer a.metrics.inFlight.Inc()
	a.metrics.streams.Inc()
	defer a.metrics.streams.Dec()
	s := &stream{exchange: x, writeTimeout: a.streamTiming.writeTimeout, position: position, announced: -1, lastCheck: time.Now()}
	defer s.close()
	defer context.AfterFunc(a.lifetime, s.shortenTimeout)()
	if !s.write(fmt.Appendf(nil, "retry: %d\n%s\n", streamRetry.Milliseconds(), s.idLine())) {
		return nil
	}
	a.follow(s, filter)
	return nil
}

// streamStart is where a stream begins: where the client's last one ended, else where it says, else now.
func (a *API) streamStart(x *exchange, after *int64) (int64, error) {
	if fields := x.r.Header.Values("Last-Event-ID"); len(fields) > 0 && fields[0] != "" {
		position, ok := parsePosition(fields[0])
		if !ok || len(fields) > 1 {
			return 0, shop.Errorf(shop.InvalidParameter, "The Last-Event-ID cannot be read; send it once, with the id of an event: 1 to 18 digits.")
		}
		return position, nil
	}
	if after != nil {
		return *after, nil
	}
	return a.Service.LastEvent(x.r.Context())
}

// follow sends events until the client has gone, its key is no longer good, or this node stops.
func (a *API) follow(s *stream, filter shop.EventFilter) {
	for {
		news := a.Service.EventSignal() // before looking: what comes after that is not missed
		sent, ok := a.sendEvents(s, filter)
		if !ok || !a.mayContinue(s) {
			return
		}
		if sent {
			continue
		}
		if time.Since(s.lastWrite) >= a.streamTiming.heartbeat && !s.write([]byte(":\n"+s.idLine()+"\n")) {
			return
		}
		select {
		case <-news:
		case <-time.After(keyCheckInterval):
		case <-a.lifetime.Done():
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
			s.announced = event.Position()
			if !a.mayContinue(s) { // a slow reader makes this take long
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
	return true, s.write(fmt.Appendf(nil, "event: reset\n%sdata: %s\n\n", s.idLine(), encode(newErrorBody(shop.AsError(expired)))))
}

// mayContinue tells whether the key still opens what is streamed. It looks from time to time, and not where the store is away.
func (a *API) mayContinue(s *stream) bool {
	if time.Since(s.lastCheck) < keyCheckInterval {
		return s.r.Context().Err() == nil && !a.isStopping()
	}
	s.lastCheck = time.Now()
	return a.isKeyValid(s.exchange)
}

// isKeyValid tells whether the key of a request is still a good one, as far as the store can tell.
func (a *API) isKeyValid(x *exchange) bool {
	secret, err := bearerToken(x.r.Header.Values("Authorization"))
	if err == nil {
		_, err = a.Service.Authenticate(x.r.Context(), secret)
	}
	return err == nil || shop.AsError(err).Code == shop.Unavailable
}

// idLine is the line that tells the client where it is, or nothing where it knows.
func (s *stream) idLine() string {
	if s.announced == s.position {
		return ""
	}
	s.announced = s.position
	return fmt.Sprintf("id: %d\n", s.position)
}

// write sends some whole blocks, and tells whether the client took them. There is no limit on what comes after that: HTTP/2
// would end a stream that is silent for that long.
func (s *stream) write(blocks []byte) bool {
	s.mu.Lock()
	s.setWriteDeadline()
	s.mu.Unlock()
	s.lastWrite = time.Now()
	_, err := s.w.Write(blocks)
	taken := err == nil && http.NewResponseController(s.w).Flush() == nil
	s.mu.Lock()
	defer s.mu.Unlock()
	http.NewResponseController(s.w).SetWriteDeadline(time.Time{})
	return taken
}

// setWriteDeadline says until when the client must have taken what it is sent.
func (s *stream) setWriteDeadline() {
	http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(s.writeTimeout)) // what has none needs none
}

// shortenTimeout leaves the client little time, also for what it is being sent.
func (s *stream) shortenTimeout() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.writeTimeout = min(s.writeTimeout, shutdownWriteTimeout)
		s.setWriteDeadline()
	}
}

// close lets nobody touch the connection any more: it may belong to another request. The last bytes, which say that this was
// all, are still to be taken.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setWriteDeadline()
	s.closed = true
}
