package httpapi

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

const (
	// heartbeatInterval is how often an idle stream sends a comment, so that proxies and clients know that
	// the stream is alive.
	heartbeatInterval = 15 * time.Second
	// keyCheckInterval is how often a stream or an export checks that its API key is still valid.
	keyCheckInterval = 500 * time.Millisecond
	// streamBuffer is the approximate size of one write in bytes, and therefore the memory that a stalled
	// client costs.
	streamBuffer = 32 << 10
)

// streamTiming contains the heartbeat interval and the write timeout. Tests shorten them.
type streamTiming struct{ heartbeat, writeTimeout time.Duration }

// stream serves the event stream to one client. It has no queue of its own. Whenever the client is ready
// for more, the stream reads the events after its position from the feed that all streams share, or from
// the store.
type stream struct {
	*exchange
	ctx       context.Context // ends when the request ends or the node starts to shut down
	out       *web.EventStream
	position  int64     // events up to this position have been sent or are excluded by the filter
	announced int64     // the last event id that was sent to the client
	lastCheck time.Time // time of the last API key check
}

// streamEvents sends the events after a position and then new events as they happen. It returns when the
// client or the node ends the stream.
func (a *API) streamEvents(x *exchange, filter shop.EventFilter, after *int64) error {
	if a.isStopping() {
		return shop.Errorf(shop.Unavailable, "This node is about to stop; try again shortly.")
	}
	slot, err := x.acquire(admission.EventStreams)
	if err != nil {
		return err
	}
	defer slot.Release()
	position, err := a.streamStart(x, filter, after)
	if err != nil {
		return err
	}
	web.SetStreamHeaders(x.w.Header())
	x.inFlight.Release()
	if x.r.Method == http.MethodHead {
		x.w.WriteHeader(http.StatusOK)
		return nil
	}
	x.streamed = true
	a.metrics.inFlight.Dec()
	defer a.metrics.inFlight.Inc()
	a.metrics.streams.Inc()
	defer a.metrics.streams.Dec()
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(a.lifetime, cancel)()
	out := web.OpenEventStream(a.lifetime, &x.w, a.streamTiming.writeTimeout)
	defer out.Close()
	s := &stream{exchange: x, ctx: ctx, out: out, position: position, announced: -1, lastCheck: time.Now()}
	if !out.Begin(s.idLine()) {
		return nil
	}
	a.follow(s, filter)
	return nil
}

// wantsStream reports whether the Accept header prefers text/event-stream to JSON.
func wantsStream(accept []string) bool {
	stream, page := 0.0, 0.0
	for _, field := range accept {
		for item := range strings.SplitSeq(field, ",") {
			mediaType, parameters, err := mime.ParseMediaType(item)
			if err != nil {
				continue
			}
			weight := 1.0
			if q, given := parameters["q"]; given {
				if weight, err = strconv.ParseFloat(q, 64); err != nil {
					continue
				}
			}
			switch mediaType {
			case "text/event-stream":
				stream = max(stream, weight)
			case "application/json":
				page = max(page, weight)
			}
		}
	}
	return stream > page
}

// lastEventID parses the fields of the Last-Event-ID header. It returns nil if the header is missing or empty.
func lastEventID(fields []string) (*int64, error) {
	if len(fields) == 0 || len(fields) == 1 && fields[0] == "" {
		return nil, nil
	}
	position, ok := parsePosition(fields[0])
	if !ok || len(fields) > 1 {
		return nil, shop.Errorf(shop.InvalidParameter,
			"The Last-Event-ID is invalid; send it once, with the id of an event: 1 to 18 digits.")
	}
	return &position, nil
}

// streamStart returns the position after which a stream starts. Without a position from the client, the stream
// starts with the oldest event if the filter specifies a time, and after the newest event otherwise.
func (a *API) streamStart(x *exchange, filter shop.EventFilter, after *int64) (int64, error) {
	if after != nil {
		return *after, nil
	}
	if !filter.Since.IsZero() {
		return a.Service.ResumePosition(x.r.Context(), 0)
	}
	return a.Service.LastEvent(x.r.Context())
}

// follow sends events until the client disconnects, the API key becomes invalid, or the node shuts down.
func (a *API) follow(s *stream, filter shop.EventFilter) {
	for {
		news := a.Service.EventSignal() // obtained before reading, so that no event is missed in between
		moved, ok := a.sendEvents(s, filter)
		if !ok || !a.mayContinue(s) {
			return
		}
		if time.Since(s.out.LastWrite) >= a.streamTiming.heartbeat && !s.out.Write([]byte(":\n"+s.idLine()+"\n")) {
			return
		}
		if moved {
			continue
		}
		select {
		case <-news:
		case <-time.After(keyCheckInterval):
		case <-s.ctx.Done():
			return
		}
	}
}

// sendEvents sends the next events. moved reports whether the stream's position has changed, in which case there may be
// more events. ok reports whether the stream can continue. If the store cannot be read, the stream stays open and tries
// again later.
func (a *API) sendEvents(s *stream, filter shop.EventFilter) (moved, ok bool) {
	text, reached, last, err := a.nextEvents(s, filter)
	if errors.Is(err, errStreamEnds) {
		return false, false
	}
	if err != nil {
		if shop.AsError(err).Code != shop.EventsExpired {
			return false, true
		}
		return a.reset(s, err)
	}
	if len(text) > 0 {
		if !s.out.Write(text) {
			return true, false
		}
		s.announced = last
	}
	moved, s.position = reached != s.position, reached
	return moved, true
}

// errStreamEnds means that the key has become invalid or the node has begun to stop.
var errStreamEnds = errors.New("the stream ends")

// nextEvents returns the text of the next events, the position that the stream then reaches, and the id of the last
// event. If the events are no longer in memory, the stream first waits for its turn to read the store. A client that
// does not read its stream costs only the memory for this text, because nothing else is kept while the text is sent.
func (a *API) nextEvents(s *stream, filter shop.EventFilter) (text []byte, reached, last int64, err error) {
	events, reached, ok := a.Service.RecentEvents(filter, s.position)
	if !ok {
		ctx, cancel := context.WithTimeout(s.ctx, a.streamTiming.heartbeat) // a heartbeat must not wait for longer
		defer cancel()
		slot, err := a.Limits.Acquire(ctx, admission.EventReads, s.principal)
		if err != nil {
			return nil, 0, 0, err
		}
		defer slot.Release()
		if !a.mayContinue(s) { // the key may have been revoked while the stream waited
			return nil, 0, 0, errStreamEnds
		}
		if events, reached, err = a.Service.EventsAfter(s.r.Context(), s.caller(), filter, s.position); err != nil {
			return nil, 0, 0, err
		}
	}
	for i, event := range events {
		text = fmt.Appendf(text, "id: %s\ndata: %s\n\n", event.ID, encode(event))
		last = event.Position()
		if len(text) >= streamBuffer && i < len(events)-1 {
			reached = last // the next read continues here
			break
		}
	}
	return text, reached, last, nil
}

// reset tells the client that events after its position have expired or were lost when the database was
// restored from a backup. The stream then continues from the oldest position that is still available.
func (a *API) reset(s *stream, expired error) (moved, ok bool) {
	position, err := a.Service.ResumePosition(s.r.Context(), s.position)
	if err != nil {
		return false, true
	}
	s.position = position
	return true, s.out.Write(fmt.Appendf(nil, "event: reset\n%sdata: %s\n\n", s.idLine(), encode(newErrorBody(shop.AsError(expired)))))
}

// mayContinue reports whether the stream can continue. It checks the API key once every keyCheckInterval.
func (a *API) mayContinue(s *stream) bool {
	if time.Since(s.lastCheck) < keyCheckInterval {
		return s.ctx.Err() == nil
	}
	s.lastCheck = time.Now()
	return a.isKeyValid(s.exchange)
}

// idLine returns the line that tells the client the current position, or "" if the client already knows
// it.
func (s *stream) idLine() string {
	if s.announced == s.position {
		return ""
	}
	s.announced = s.position
	return fmt.Sprintf("id: %d\n", s.position)
}
