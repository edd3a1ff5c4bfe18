package staff

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
)

const (
	// sessionCheckInterval is how often a stream checks that its session is still valid.
	sessionCheckInterval = 500 * time.Millisecond
	// liveKeepAlive is the longest silence of a stream, so that proxies do not close it.
	liveKeepAlive = 15 * time.Second
	// liveMinInterval is the shortest time between two messages, so that a burst of events becomes one.
	liveMinInterval = 250 * time.Millisecond
	// liveWriteTimeout is how long a browser may take to read a message.
	liveWriteTimeout = 15 * time.Second
	// maxLiveTopics limits the topics in one message. With more changes, the page refreshes everything.
	maxLiveTopics = 200
)

// live streams the names of what has changed. It sends no data: the page requests what it shows, with the
// scopes of its key.
func (p *Pages) live(x *exchange) error {
	position, err := x.liveStartPosition()
	if err != nil {
		return err
	}
	select {
	case p.streams <- struct{}{}:
		defer func() { <-p.streams }()
	default:
		return shop.Errorf(shop.Unavailable, "Too many pages are open; this one will not update automatically.")
	}
	x.releaseSlot()
	x.streamed = true
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer messages
	s := &liveStream{exchange: x, position: position}
	if !s.write("retry: 2000\nid: %d\n\n", position) {
		return nil
	}
	s.follow()
	return nil
}

// liveStartPosition returns the position after which the stream begins: the end of the browser's previous
// stream, or else the time at which the page was rendered.
func (x *exchange) liveStartPosition() (int64, error) {
	for _, text := range []string{x.r.Header.Get("Last-Event-ID"), x.r.URL.Query().Get("after")} {
		if position, err := strconv.ParseInt(text, 10, 64); err == nil && position >= 0 {
			return position, nil
		}
	}
	return x.Service.LastEvent(x.r.Context())
}

// liveStream is the stream of one open page. Its only state is its position in the feed.
type liveStream struct {
	*exchange
	position int64
	written  time.Time
}

func (s *liveStream) write(format string, args ...any) bool {
	control := http.NewResponseController(s.w)
	control.SetWriteDeadline(time.Now().Add(liveWriteTimeout)) // unsupported only in tests, which need none
	s.written = time.Now()
	_, err := fmt.Fprintf(s.w, format, args...)
	return err == nil && control.Flush() == nil
}

// follow sends changes until the browser disconnects, the session ends, or the node stops.
func (s *liveStream) follow() {
	checked := time.Now()
	for {
		signal := s.Service.EventSignal() // taken before reading, so that no later event is missed
		lastWrite := s.written
		if !s.sendChanges() {
			return
		}
		if s.written != lastWrite {
			select {
			case <-time.After(liveMinInterval):
			case <-s.running.Done():
			case <-s.r.Context().Done():
			}
		}
		if time.Since(checked) >= sessionCheckInterval {
			checked = time.Now()
			if err := s.identify(); err != nil && shop.AsError(err).Code == shop.InvalidAPIKey {
				s.write("event: ended\ndata: ended\n\n")
				return
			}
		}
		if time.Since(s.written) >= liveKeepAlive && !s.write(":\n\n") {
			return
		}
		select {
		case <-signal:
		case <-time.After(sessionCheckInterval):
		case <-s.running.Done():
			return
		case <-s.r.Context().Done():
			return
		}
	}
}

// sendChanges sends each topic that changed since the last message once. It reports whether the stream can
// continue: a store that is unavailable does not end it.
func (s *liveStream) sendChanges() bool {
	var topics []string
	before := s.position
	for {
		events, reached, err := s.Service.EventsAfter(s.r.Context(), shop.EventFilter{}, s.position)
		if err != nil && shop.AsError(err).Code == shop.EventsExpired {
			return s.sendEverything()
		}
		if err != nil {
			return s.r.Context().Err() == nil
		}
		for _, event := range events {
			for _, topic := range s.topicsOf(event) {
				if !slices.Contains(topics, topic) {
					topics = append(topics, topic)
				}
			}
		}
		s.position = reached
		if len(topics) > maxLiveTopics {
			return s.sendEverything()
		}
		if len(events) == 0 {
			break
		}
	}
	switch {
	case len(topics) > 0:
		return s.write("id: %d\ndata: %s\n\n", s.position, strings.Join(topics, " "))
	case s.position > before+1000: // so that a reconnecting browser does not start far behind
		return s.write("id: %d\n\n", s.position)
	}
	return true
}

// sendEverything makes the page refresh everything, instead of naming the changes.
func (s *liveStream) sendEverything() bool {
	last, err := s.Service.LastEvent(context.WithoutCancel(s.r.Context()))
	if err != nil {
		return s.r.Context().Err() == nil
	}
	s.position = last
	return s.write("id: %d\ndata: everything\n\n", last)
}

// topicsOf returns the topics that elements of a page wait for: the object's own and that of its kind. It
// returns none if the key may not read the object.
func (s *liveStream) topicsOf(event shop.Event) []string {
	kind, id := event.Subject, ""
	if end := strings.LastIndexByte(event.Subject, '/'); end >= 0 {
		kind, id = event.Subject[:end], event.Subject[end+1:]
	}
	known, ok := map[string]struct {
		scope    shop.Scope
		one, all string
	}{
		"pets":         {shop.PetsRead, "pet-", "pets"},
		"categories":   {shop.PetsRead, "category-", "categories"},
		"store/orders": {shop.OrdersRead, "order-", "orders"},
		"keys":         {shop.Admin, "key-", "keys"},
		"webhooks":     {shop.Admin, "webhook-", "webhooks"},
	}[kind]
	if !ok || !s.May(known.scope) {
		return nil
	}
	topics := []string{known.one + id, known.all}
	switch event.Type {
	case shop.PetCreated:
		topics = []string{"pets-created", known.all}
	case shop.OrderPlaced:
		topics = append(topics, "orders-placed")
	}
	return topics
}
