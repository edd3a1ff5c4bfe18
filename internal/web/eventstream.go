package web

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// StreamWriteTimeout is how long a client may take to accept data before its stream is closed. The client can then
	// reconnect and resume.
	StreamWriteTimeout = 15 * time.Second
	// shutdownWriteTimeout replaces the write timeout when the node shuts down.
	shutdownWriteTimeout = time.Second
	// streamRetry is how long a client should wait before it reconnects after its stream has ended.
	streamRetry = 2 * time.Second
)

// EventStream sends server-sent events (text/event-stream) to one client. It has no queue.
type EventStream struct {
	// LastWrite is the time of the last write. It decides when a heartbeat is due.
	LastWrite time.Time

	w       *Recorder
	stop    func() bool // ends the wait for the shutdown
	mu      sync.Mutex  // guards the fields below and the write deadline
	timeout time.Duration
	closed  bool
}

// SetStreamHeaders sets the headers of a response that is an event stream.
func SetStreamHeaders(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // prevents nginx from buffering events
}

// OpenEventStream opens a stream whose client may take writeTimeout to accept data. The caller has set the headers with
// SetStreamHeaders and must close the stream. When lifetime ends, because the node shuts down, the timeout becomes
// shorter.
func OpenEventStream(lifetime context.Context, w *Recorder, writeTimeout time.Duration) *EventStream {
	s := &EventStream{w: w, timeout: writeTimeout}
	s.stop = context.AfterFunc(lifetime, s.shortenTimeout)
	return s
}

// Begin sends the first lines of a stream: when to reconnect, and the lines in head.
func (s *EventStream) Begin(head string) bool {
	return s.Write(fmt.Appendf(nil, "retry: %d\n%s\n", streamRetry.Milliseconds(), head))
}

// Write sends complete blocks and reports whether the client accepted them in time. Afterwards it clears
// the write deadline, because HTTP/2 would otherwise reset an idle stream when the deadline passes.
func (s *EventStream) Write(blocks []byte) bool {
	s.w.WriteHeader(http.StatusOK) // only the first call has an effect; the deadline that it sets is replaced below
	s.mu.Lock()
	s.setWriteDeadline()
	s.mu.Unlock()
	s.LastWrite = time.Now()
	_, err := s.w.Write(blocks)
	ok := err == nil && http.NewResponseController(s.w).Flush() == nil
	s.mu.Lock()
	defer s.mu.Unlock()
	http.NewResponseController(s.w).SetWriteDeadline(time.Time{})
	return ok
}

// setWriteDeadline limits how long the current write may take. The caller must hold the lock.
func (s *EventStream) setWriteDeadline() {
	http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(s.timeout)) // fails only in tests, which need no deadline
}

// shortenTimeout shortens the write timeout when the node shuts down. This also applies to a write that is
// already in progress.
func (s *EventStream) shortenTimeout() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.timeout = min(s.timeout, shutdownWriteTimeout)
		s.setWriteDeadline()
	}
}

// Close sets the deadline for sending the rest of the response. It also prevents shortenTimeout from
// changing that deadline later, when the connection may already be serving another request.
func (s *EventStream) Close() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setWriteDeadline()
	s.closed = true
}
