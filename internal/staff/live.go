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
	// sessionCheckInterval is how often a stream looks whether its session lives.
	sessionCheckInterval = 500 * time.Millisecond
	// liveKeepAlive is how long a stream is silent at most, so that everybody on the way knows that it lives.
	liveKeepAlive = 15 * time.Second
	// liveMinInterval is how often a page is told of what happens at most: much may happen at once.
	liveMinInterval = 250 * time.Millisecond
	// liveWriteTimeout is how long a browser may take with what it was sent.
	liveWriteTimeout = 15 * time.Second
	// maxLiveTopics is how many things are named in one message; where more have changed, a page looks at all that it shows.
	maxLiveTopics = 200
)

// live tells a page what has changed, by name and no more: the page then asks for what it shows, as whoever looks at it may
// see it.
func (p *Pages) live(v *visit) error {
	position, err := v.liveStartPosition()
	if err != nil {
		return err
	}
	select {
	case p.streams <- struct{}{}:
		defer func() { <-p.streams }()
	default:
		return shop.Errorf(shop.Unavailable, "Too many pages are open; this one will not update automatically.")
	}
	v.leave()
	v.streamed = true
	h := v.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would keep messages back
	s := &liveStream{visit: v, position: position}
	if !s.write("retry: 2000\nid: %d\n\n", position) {
		return nil
	}
	s.follow()
	return nil
}

// liveStartPosition is where a stream begins: where the browser's last one ended, else when its page was made.
func (v *visit) liveStartPosition() (int64, error) {
	for _, text := range []string{v.r.Header.Get("Last-Event-ID"), v.r.URL.Query().Get("after")} {
		if position, err := strconv.ParseInt(text, 10, 64); err == nil && position >= 0 {
			return position, nil
		}
	}
	return v.Service.LastEvent(v.r.Context())
}

// liveStream is one page that follows what happens. Nothing is kept for it but its place.
type liveStream struct {
	*visit
	position int64
	written  time.Time
}

func (s *liveStream) write(format string, args ...any) bool {
	control := http.NewResponseController(s.w)
	control.SetWriteDeadline(time.Now().Add(liveWriteTimeout)) // what has no deadline needs none
	s.written = time.Now()
	_, err := fmt.Fprintf(s.w, format, args...)
	return err == nil && control.Flush() == nil
}

// follow tells what happens until the browser has gone, its session is over, or this node stops.
func (s *liveStream) follow() {
	checked := time.Now()
	for {
		signal := s.Service.EventSignal() // before looking: what comes after that is not missed
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

// sendChanges tells what has changed since the last time, each thing once, and returns whether the stream can go on. A store that
// is away ends no stream: it goes on when the store does.
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
	case s.position > before+1000: // so that one who comes back does not begin far behind
		return s.write("id: %d\n\n", s.position)
	}
	return true
}

// sendEverything lets the page look at all that it shows, in place of telling what has changed.
func (s *liveStream) sendEverything() bool {
	last, err := s.Service.LastEvent(context.WithoutCancel(s.r.Context()))
	if err != nil {
		return s.r.Context().Err() == nil
	}
	s.position = last
	return s.write("id: %d\ndata: everything\n\n", last)
}

// topicsOf are the names under which the pages wait for an event: of the one thing, and of all things of its kind. What
// somebody may not see is not told.
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
