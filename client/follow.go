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

// maxReconnectDelay is the maximum random delay between two connections. The random delay is added to the
// delay that the service requests.
const maxReconnectDelay = 30 * time.Second

// ResetError reports that the caller's view of the events is no longer complete or correct. Either the caller
// has missed events that were deleted because of their age, or the store was restored from a backup, which
// undid events that the caller has seen. State that was derived from events may be wrong and must be read
// again. [IsCode] recognizes a ResetError as [CodeEventsExpired].
type ResetError struct {
	After string // all events after this id are available
	cause *Error
}

func (e *ResetError) Error() string { return e.cause.Error() }

func (e *ResetError) Unwrap() error { return e.cause }

// Follow iterates over all events after the event whose id is given in after, and then over new events as they happen.
// It yields each event exactly once, in order and without gaps. If after is empty, Follow starts with the first event
// since filter.Since. If filter.Since is not set either, Follow starts with the first event that happens after it has
// connected. If after is "0", Follow starts with the oldest event. To continue after a restart, store the ID of the
// last event that was processed.
//
// If a connection breaks or is idle for too long, Follow reconnects with increasing delays until the context ends. If
// the first connection never succeeds, however, Follow gives up after the usual number of retries, because the URL may
// be wrong.
//
// The iteration ends with an error, which is either the context's error or one that retrying would not fix, such as a
// revoked key. Only a [*ResetError] does not end the iteration. It reports that events are missing, and the loop may
// continue.
func (c *Client) Follow(ctx context.Context, after string, filter EventFilter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if after != "" && !isPosition(after) {
			yield(Event{}, errors.New("animalstore: after must be an event id of 1 to 18 digits"))
			return
		}
		f := &follower{c: c, query: filter.values(), position: after, yield: yield}
		if err := f.run(ctx); err != nil {
			yield(Event{}, err)
		}
	}
}

// LastEventID returns the id of the newest event, or "0" if there are no events. A program misses no change
// if it first calls LastEventID, then reads the lists, and then follows the events after the returned id.
func (c *Client) LastEventID(ctx context.Context) (string, error) {
	f := &follower{c: c, onlyPosition: true}
	err := f.run(ctx)
	return f.position, err
}

// errStop ends a follower when the caller wants no more events.
var errStop = errors.New("stopped by the caller")

// follower holds the state of one iteration over events. The iteration may use any number of connections.
type follower struct {
	c            *Client
	query        url.Values
	yield        func(Event, error) bool
	onlyPosition bool

	position  string // the id of the last event that was delivered; empty if not known yet
	connected bool   // whether at least one connection has succeeded
	failures  int    // the number of consecutive failures
	retry     time.Duration
}

// run connects, and reconnects after failures, until the context ends or a permanent error occurs. It returns
// nil if the caller stops the iteration.
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
			return fmt.Errorf("animalstore: %w while waiting to reconnect: %w", ctx.Err(), err)
		}
	}
}

// isStreamRetryable reports whether reconnecting may help. Unlike other calls, a stream is retried after
// every 5xx status. Reading again is harmless, and a program that follows events for months is bound to
// receive a 5xx status.
func isStreamRetryable(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status >= 500 || isRetryable(err)
}

// reconnectDelay returns how long to wait before connecting again.
func (f *follower) reconnectDelay(err error) time.Duration {
	requested, maxJitter := min(f.retry, maxRetryAfter), maxReconnectDelay
	if f.failures < 16 { // a larger number of failures could make the shift overflow
		maxJitter = min(maxJitter, max(initialBackoff, requested)<<(f.failures-1))
	}
	if e, ok := errors.AsType[*Error](err); ok {
		requested = max(requested, min(e.RetryAfter, maxRetryAfter))
	}
	return requested + mathrand.N(maxJitter)
}

// connect opens one connection and handles its messages. It returns the reason why the connection ended.
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
		if f.connected && time.Since(start) > maxReconnectDelay { // the connection was stable, so earlier failures no longer count
			f.failures = 0
		}
		if errors.Is(err, errTooLarge) {
			return invalidStream(err.Error())
		}
		if err != nil {
			return fmt.Errorf("animalstore: GET %s/events: the stream was cut off: %w", f.c.base, err)
		}
		if err := f.handle(b); err != nil {
			return err
		}
	}
}

// open requests an event stream and waits for the response to start.
func (f *follower) open(idle *idleTimeout) (io.ReadCloser, error) {
	prepared, err := f.c.prepare(idle.ctx, request{method: http.MethodGet, path: "/events", query: f.query})
	if err != nil {
		return nil, err
	}
	prepared.Header.Set("Accept", "text/event-stream")
	prepared.Header.Set("Accept-Encoding", "identity") // compression would delay events
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
		return nil, got.unexpectedError("it is not an event stream")
	}
	if got.body, err = io.ReadAll(io.LimitReader(idle, maxResponse)); err != nil {
		return nil, fmt.Errorf("animalstore: GET %s/events: the response was cut off: %w", f.c.base, err)
	}
	return nil, got.asError()
}

// handle processes one message from the event stream.
func (f *follower) handle(b sseMessage) error {
	if b.id != "" && !isPosition(b.id) {
		return invalidStream("its ids are not event ids")
	}
	switch {
	case b.hasData && b.name == "reset":
		return f.reset(b)
	case b.hasData && (b.name == "" || b.name == "message"):
		return f.deliver(b)
	// A message without an event, or of an unknown kind, only advances the position.
	case b.id != "" && !isLater(f.position, b.id):
		f.position = b.id
	}
	if f.onlyPosition && f.position != "" {
		return errStop
	}
	return nil
}

// deliver yields the event in a message, unless that event was already yielded.
func (f *follower) deliver(b sseMessage) error {
	var event Event
	if err := json.Unmarshal(b.data, &event); err != nil || event.ID == "" || event.ID != b.id {
		return invalidStream("one of its events cannot be decoded")
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

// reset yields a ResetError and then lets the follower continue with the events that are still available.
func (f *follower) reset(b sseMessage) error {
	cause := apiResponse{status: http.StatusGone, body: b.data}.asError()
	if cause.Code != CodeEventsExpired || b.id == "" {
		return invalidStream("its reset message is not valid")
	}
	f.position = b.id
	if f.onlyPosition || !f.yield(Event{}, &ResetError{After: b.id, cause: cause}) {
		return errStop
	}
	return nil
}

// invalidStream returns the error for an event stream that the service would not send.
func invalidStream(why string) *Error {
	return apiResponse{status: http.StatusOK, header: http.Header{"Content-Type": {"text/event-stream"}}}.unexpectedError(why)
}

// isPosition reports whether a text can be an event id.
func isPosition(text string) bool {
	_, ok := parseDigits(text)
	return ok && len(text) <= 18
}

// isLater reports whether event id a is later than event id b.
func isLater(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) > 0
}
