package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	mathrand "math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxReconnectDelay limits the pause between two connections, on top of what the service asks for.
const maxReconnectDelay = 30 * time.Second

// ResetError tells a follower that the service has removed events that it has not seen, for their age, or that events which it
// has seen were undone, because the store was restored from a backup. What it knows from events may be wrong now, and must
// be read again. [IsCode] finds [CodeEventsExpired] in it.
type ResetError struct {
	After string // the events after this one are there
	cause *Error
}

func (e *ResetError) Error() string { return e.cause.Error() }

func (e *ResetError) Unwrap() error { return e.cause }

// Follow tells every event after the one with the id after, and goes on with those that happen, as they happen: each
// once, in their order, and none is left out. Where after is empty it begins with what happens once it is connected; "0"
// is before the first event. Keep the ID of the event that was last dealt with, and a program that is started again can go
// on from there.
//
// A connection that breaks, or is silent for too long, is made again, for as long as the context lasts, with pauses that
// grow. Only the first one is given up as a call is, after so many retries: until then, the address may be wrong.
//
// It ends with an error: that of the context, or one that would not pass by itself, such as a key that was revoked. One
// error does not end it: a [*ResetError] says that events are missing. Where the loop goes on, so do the events.
func (c *Client) Follow(ctx context.Context, after string, filter EventFilter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if after != "" && !isPosition(after) {
			yield(Event{}, errors.New("animalstore: a follower begins after the id of an event: 1 to 18 digits"))
			return
		}
		f := &follower{c: c, query: filter.values(), position: after, yield: yield}
		if err := f.run(ctx); err != nil {
			yield(Event{}, err)
		}
	}
}

// LastEventID returns the id of the newest event, or "0" where there is none. Whoever reads what there is after that, and
// then follows the events after this id, has missed nothing.
func (c *Client) LastEventID(ctx context.Context) (string, error) {
	f := &follower{c: c, onlyPosition: true}
	err := f.run(ctx)
	return f.position, err
}

// errStop ends a follower whose caller wants no more events.
var errStop = errors.New("stopped by the caller")

// follower is one loop over the events, over any number of connections.
type follower struct {
	c            *Client
	query        url.Values
	yield        func(Event, error) bool
	onlyPosition bool

	position  string // all up to this event was told; empty: not known yet
	connected bool   // there was a connection
	failures  int    // in succession
	retry     time.Duration
}

// run connects again and again. It returns nil where the caller wants no more.
func (f *follower) run(ctx context.Context) error {
	for {
		err := f.connect(ctx)
		switch {
		case errors.Is(err, errStop):
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("animalstore: GET %s/events ended: %w", f.c.base, ctx.Err())
		case !isStreamRetryable(err) || !f.connected && f.failures >= f.c.retries:
			return err
		}
		f.failures++
		if sleep(ctx, f.reconnectDelay(err)) != nil {
			return fmt.Errorf("animalstore: %w before the events could be had again: %w", ctx.Err(), err)
		}
	}
}

// isStreamRetryable tells whether a stream may be had later. Unlike a call, it is worth trying after every failure of the
// service: to read again does no harm, and who follows for months will see one.
func isStreamRetryable(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status >= 500 || isRetryable(err)
}

// reconnectDelay is how long to wait before the next connection.
func (f *follower) reconnectDelay(err error) time.Duration {
	requested, maxJitter := min(f.retry, maxRetryAfter), maxReconnectDelay
	if f.failures < 16 { // a shift further would overflow
		maxJitter = min(maxJitter, max(initialBackoff, requested)<<(f.failures-1))
	}
	if e, ok := errors.AsType[*Error](err); ok {
		requested = max(requested, min(e.RetryAfter, maxRetryAfter))
	}
	return requested + mathrand.N(maxJitter)
}

// connect makes one connection and tells what comes. It returns why there is no more.
func (f *follower) connect(ctx context.Context) error {
	idle := f.c.newIdleTimeout(ctx)
	defer idle.close()
	body, err := f.open(idle)
	if err != nil {
		return err
	}
	defer body.Close()
	idle.limit = maxIdle
	f.connected = !f.onlyPosition
	start, s := time.Now(), newSSEReader(idle)
	for {
		b, err := s.next()
		if s.retry >= 0 {
			f.retry = s.retry
		}
		if f.connected && time.Since(start) > maxReconnectDelay { // it was a good one
			f.failures = 0
		}
		if errors.Is(err, errTooLarge) {
			return invalidStream(err.Error())
		}
		if err != nil {
			return fmt.Errorf("animalstore: GET %s/events: the stream broke off: %w", f.c.base, err)
		}
		if err := f.handle(b); err != nil {
			return err
		}
	}
}

// open sends the request for a stream and waits for the answer's beginning.
func (f *follower) open(idle *idleTimeout) (io.ReadCloser, error) {
	prepared, err := f.c.prepare(idle.ctx, request{method: http.MethodGet, path: "/events", query: f.query})
	if err != nil {
		return nil, err
	}
	prepared.Header.Set("Accept", "text/event-stream")
	prepared.Header.Set("Accept-Encoding", "identity") // who compresses keeps events back
	if f.position != "" {
		prepared.Header.Set("Last-Event-ID", f.position)
	}
	response, err := idle.send(f.c.http, prepared)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return response.Body, nil
	}
	defer response.Body.Close()
	got := apiResponse{status: response.StatusCode, header: response.Header}
	if got.status >= 200 && got.status <= 299 {
		return nil, got.unexpectedError("it is no stream of events")
	}
	if got.body, err = io.ReadAll(io.LimitReader(idle, maxResponse)); err != nil {
		return nil, fmt.Errorf("animalstore: GET %s/events: the answer broke off: %w", f.c.base, err)
	}
	return nil, got.asError()
}

// handle tells the caller of one block of the stream, where there is something to tell.
func (f *follower) handle(b sseMessage) error {
	if b.id != "" && !isPosition(b.id) {
		return invalidStream("its ids are not those of events")
	}
	switch {
	case b.hasData && b.name == "reset":
		return f.reset(b)
	case b.hasData && (b.name == "" || b.name == "message"):
		return f.deliver(b)
	case b.id != "" && !isLater(f.position, b.id): // a place without an event, or a kind of message that came after us
		f.position = b.id
	}
	if f.onlyPosition && f.position != "" {
		return errStop
	}
	return nil
}

// deliver tells the caller of an event, unless that has been done.
func (f *follower) deliver(b sseMessage) error {
	var event Event
	if err := json.Unmarshal(b.data, &event); err != nil || event.ID == "" || event.ID != b.id {
		return invalidStream("one of its events cannot be read")
	}
	if f.position != "" && !isLater(event.ID, f.position) {
		return nil
	}
	f.position, f.failures = event.ID, 0
	if f.onlyPosition || !f.yield(event, nil) {
		return errStop
	}
	return nil
}

// reset tells the caller that events are missing, and goes on with those that are there.
func (f *follower) reset(b sseMessage) error {
	cause := apiResponse{status: http.StatusGone, body: b.data}.asError()
	if cause.Code != CodeEventsExpired || b.id == "" {
		return invalidStream("it does not say which of its events have expired")
	}
	f.position = b.id
	if f.onlyPosition || !f.yield(Event{}, &ResetError{After: b.id, cause: cause}) {
		return errStop
	}
	return nil
}

// invalidStream is the error of a stream that the service would not send.
func invalidStream(why string) *Error {
	return apiResponse{status: http.StatusOK, header: http.Header{"Content-Type": {"text/event-stream"}}}.unexpectedError(why)
}

// isPosition tells whether a text can be the id of an event.
func isPosition(text string) bool {
	_, ok := parseDigits(text)
	return ok && len(text) <= 18
}

// isLater tells whether one position comes after another.
func isLater(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) > 0
}
