package staff

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

const (
	// sessionCheckInterval is how often a stream checks that the user's session is still valid.
	sessionCheckInterval = 500 * time.Millisecond
	// liveKeepAlive is the longest time without a message. Proxies may close a stream that is silent for
	// longer.
	liveKeepAlive = 15 * time.Second
	// liveMinInterval is the shortest time between two messages. A burst of events is combined into one
	// message.
	liveMinInterval = 250 * time.Millisecond
	// maxLiveTopics is the maximum number of topics in one message. If more have changed, the page refreshes
	// everything.
	maxLiveTopics = 200
	// maxLiveReads is the maximum number of times that the store is read for one message. If a page is further
	// behind, it refreshes everything.
	maxLiveReads = 10
)

// live streams the topics that have changed, such as "pet-7". It sends no other data. The page then requests
// the parts that it shows, and those requests check the scopes of the user's key.
func (p *Pages) live(x *exchange) error {
	position, err := x.liveStartPosition()
	if err != nil {
		return err
	}
	slot, err := x.Limits.Acquire(x.r.Context(), admission.LivePages, x.principal)
	if err != nil {
		return err // the page remains, but does not update automatically
	}
	defer slot.Release()
	x.releaseLimits()
	x.streamed = true
	web.SetStreamHeaders(x.w.Header())
	out := web.OpenEventStream(x.running, x.w, web.StreamWriteTimeout)
	defer out.Close()
	s := &liveStream{exchange: x, out: out, position: position}
	if !out.Begin(fmt.Sprintf("id: %d\n", position)) {
		return nil
	}
	s.follow()
	return nil
}

// liveStartPosition returns the position in the event feed after which the stream begins. This is the
// position that the browser's previous stream had reached or, for a new page, the position when the page was
// rendered.
func (x *exchange) liveStartPosition() (int64, error) {
	for _, text := range []string{x.r.Header.Get("Last-Event-ID"), x.r.URL.Query().Get("after")} {
		if position, err := strconv.ParseInt(text, 10, 64); err == nil && position >= 0 {
			return position, nil
		}
	}
	return x.Service.LastEvent(x.r.Context())
}

// liveStream is the event stream for one open page. It stores no pending messages, only its position in the
// event feed.
type liveStream struct {
	*exchange
	out      *web.EventStream
	position int64
}

// write sends one message and reports whether the browser has accepted it in time.
func (s *liveStream) write(format string, args ...any) bool {
	return s.out.Write(fmt.Appendf(nil, format, args...))
}

// follow sends changes until the browser disconnects, the session ends or the node stops.
func (s *liveStream) follow() {
	checked := time.Now()
	for {
		signal := s.Service.EventSignal() // the signal is obtained before the events are read, so that no later event is missed
		lastWrite := s.out.LastWrite
		if !s.sendChanges() {
			return
		}
		if s.out.LastWrite != lastWrite {
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
		if time.Since(s.out.LastWrite) >= liveKeepAlive && !s.write(":\n\n") {
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

// sendChanges sends one message with every topic that has changed since the last message. It reports whether
// the stream can continue. If the store is unavailable, the stream continues and tries again later.
func (s *liveStream) sendChanges() bool {
	var topics []string
	before := s.position
	for reads := 1; ; reads++ {
		events, reached, err := s.nextEvents()
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
		if len(topics) > maxLiveTopics || reads == maxLiveReads && len(events) > 0 {
			return s.sendEverything()
		}
		if len(events) == 0 {
			break
		}
	}
	switch {
	case len(topics) > 0:
		return s.write("id: %d\ndata: %s\n\n", s.position, strings.Join(topics, " "))
	// Tell the browser its position, so that it does not start far behind if it reconnects.
	case s.position > before+1000:
		return s.write("id: %d\n\n", s.position)
	}
	return true
}

// nextEvents returns the next events from memory. If they are no longer there, it waits for the key's turn and reads
// them from the store.
func (s *liveStream) nextEvents() (events []shop.Event, reached int64, err error) {
	if events, reached, ok := s.Service.RecentEvents(shop.EventFilter{}, s.position); ok {
		return events, reached, nil
	}
	ctx, cancel := context.WithTimeout(s.r.Context(), liveKeepAlive)
	defer cancel()
	defer context.AfterFunc(s.running, cancel)()
	slot, err := s.Limits.Acquire(ctx, admission.EventReads, s.principal)
	if err != nil {
		return nil, 0, err
	}
	defer slot.Release()
	return s.Service.EventsAfter(ctx, s.caller(), shop.EventFilter{}, s.position)
}

// sendEverything tells the page to refresh everything, without listing the changes.
func (s *liveStream) sendEverything() bool {
	last, err := s.Service.LastEvent(context.WithoutCancel(s.r.Context()))
	if err != nil {
		return s.r.Context().Err() == nil
	}
	s.position = last
	return s.write("id: %d\ndata: everything\n\n", last)
}

// topicsOf returns the topics that an event changes, such as "pet-7" and "pets". Elements on a page are
// refreshed when their topic changes. topicsOf returns nothing if the user's key may not read the object.
func (s *liveStream) topicsOf(event shop.Event) []string {
	kind, id := strings.TrimSuffix(event.Subject, "/profile"), "" // a profile belongs to the page of its animal
	if end := strings.LastIndexByte(kind, '/'); end >= 0 {
		kind, id = kind[:end], kind[end+1:]
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
	var topics []string
	if s.May(shop.Admin) || s.May(shop.EventsRead) && event.Type.IsPublic() {
		topics = append(topics, "activity")
	}
	if !ok || !s.May(known.scope) {
		return topics
	}
	switch event.Type {
	case shop.PetCreated:
		return append(topics, "pets-created", known.all)
	case shop.OrderPlaced:
		return append(topics, known.one+id, known.all, "orders-placed")
	}
	return append(topics, known.one+id, known.all)
}
