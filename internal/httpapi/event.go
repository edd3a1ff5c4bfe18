package httpapi

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

// listEvents sends a page of events, or opens a stream if the client prefers text/event-stream.
func (a *API) listEvents(x *exchange) error {
	filter, request, err := parseEventList(x.r.URL.RawQuery)
	if err != nil {
		return err
	}
	if err := restrictEvents(x, &filter); err != nil {
		return err
	}
	x.w.Header().Add("Vary", "Accept")
	// Only streams use the header, but it is checked for pages, too.
	lastEvent, err := lastEventID(x.r.Header.Values("Last-Event-ID"))
	if err != nil {
		return err
	}
	if wantsStream(x.r.Header.Values("Accept")) {
		if !filter.Until.IsZero() {
			return shop.Errorf(shop.InvalidParameter, "The parameter until is only for pages, because a stream has no end.")
		}
		return a.streamEvents(x, filter, cmp.Or(lastEvent, request.After))
	}
	page, err := a.eventPage(x, filter, request)
	if err != nil {
		return err
	}
	query := eventQuery(filter)
	query.Set("limit", strconv.Itoa(request.Limit))
	first, next := query.Encode(), ""
	if page.More {
		query.Set("after", strconv.FormatInt(page.Next(shop.Event.Position), 10))
		next = query.Encode()
	}
	a.setLinks(x, "/events", first, next)
	sendPage(x, page)
	return nil
}

// eventQuery returns the query parameters for a filter.
func eventQuery(filter shop.EventFilter) url.Values {
	query := url.Values{}
	for _, t := range filter.Types {
		query.Add("type", string(t))
	}
	for _, subject := range filter.Subjects {
		query.Add("subject", subject)
	}
	if filter.Actor != "" {
		query.Set("actor", filter.Actor)
	}
	for name, at := range map[string]time.Time{"since": filter.Since, "until": filter.Until} {
		if !at.IsZero() {
			query.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	return query
}

// restrictEvents limits a filter to the events that the key may see. It fails with insufficient_scope if the
// filter names a type that the key may not see.
func restrictEvents(x *exchange, filter *shop.EventFilter) error {
	if x.principal.HasScope(shop.Admin) {
		return nil
	}
	filter.Public = true
	for _, t := range filter.Types {
		if !t.IsPublic() {
			x.scope = shop.Admin
			return shop.Errorf(shop.InsufficientScope, "This API key may not read events of the type %s; use one with the scope %s.", t, shop.Admin)
		}
	}
	return nil
}

// eventPage waits for the key's turn, as streams do, and then reads one page of events. This prevents a key that reads
// many pages at the same time from slowing down other keys.
func (a *API) eventPage(x *exchange, filter shop.EventFilter, request shop.PageRequest) (page shop.Page[shop.Event], err error) {
	counted, err := x.acquire(admission.EventPages)
	if err != nil {
		return page, err
	}
	defer counted.Release()
	slot, err := x.acquire(admission.EventReads)
	if err != nil {
		return page, err
	}
	defer slot.Release()
	return a.Service.ListEvents(x.r.Context(), x.caller(), filter, request)
}

func parseEventList(rawQuery string) (shop.EventFilter, shop.PageRequest, error) {
	q := parseQuery(rawQuery)
	var filter shop.EventFilter
	for _, text := range q.values["type"] {
		if reason := shop.EventTypeProblem(text); reason != "" {
			q.fail("type", "%s", reason)
		}
		if slices.Contains(filter.Types, shop.EventType(text)) {
			q.fail("type", "contains %s twice; name each type once", text)
		}
		filter.Types = append(filter.Types, shop.EventType(text))
	}
	filter.Known = len(filter.Types) == 0
	if subject := q.checkedText("subject", shop.TextProblem); subject != "" {
		filter.Subjects = []string{subject}
	}
	filter.Actor = q.checkedText("actor", shop.ActorProblem)
	filter.Since, filter.Until = q.time("since"), q.time("until")
	if !filter.Since.IsZero() && !filter.Until.IsZero() && filter.Until.Before(filter.Since) {
		q.fail("until", "must not be before since")
	}
	request := shop.PageRequest{Limit: int(q.integer("limit", 1, maxLimit, defaultLimit))}
	if text, given := q.single("after"); given {
		position, ok := parsePosition(text)
		if !ok {
			q.fail("after", "must be the id of an event: 1 to 18 digits")
		}
		request.After = &position
	}
	return filter, request, q.err
}

var positions = regexp.MustCompile(`^[0-9]{1,18}$`)

// parsePosition parses an event id, which is also the event's position in the feed.
func parsePosition(text string) (int64, bool) {
	if !positions.MatchString(text) {
		return 0, false
	}
	position, err := strconv.ParseInt(text, 10, 64)
	return position, err == nil
}
