package sqlstore

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/postgres"
)

// newEventColumns does not contain the id column, because the database assigns the id of a new event.
const (
	eventColumns    = "id, " + newEventColumns
	newEventColumns = "at, type, subject, actor, data"
)

func scanEvent(scan Scanner) (shop.StoredEvent, error) {
	var event shop.StoredEvent
	var at int64
	var data string
	err := scan(&event.ID, &at, &event.Type, &event.Subject, &event.Actor, &data)
	event.Time, event.Data = fromMicros(at), []byte(data)
	return event, err
}

// appendEvent appends the event's values to args, one for each of newEventColumns except the first, which is the
// time.
func appendEvent(args []any, e shop.NewEvent) []any {
	return append(args, string(e.Type), e.Subject, e.Actor, string(e.Data))
}

// eventTypes are the SQL types of newEventColumns.
var eventTypes = []string{"BIGINT", "TEXT", "TEXT", "TEXT", "TEXT"}

// InsertEvents uses the clock of the database, unless the store has another clock.
func (t *tx) InsertEvents(events ...shop.NewEvent) error {
	if t.dialect.clock == nil {
		return t.Insert(eventInsertionNow, len(events), func(args []any, row int) []any { return appendEvent(args, events[row]) })
	}
	now := micros(t.dialect.clock())
	return t.Insert(t.dialect.eventInsertion, len(events), func(args []any, row int) []any {
		return appendEvent(append(args, now), events[row])
	})
}

// eventInsertionNow inserts events with the time of the PostgreSQL server.
var eventInsertionNow = &engine.Insertion{Table: "event_inbox", Columns: newEventColumns, Types: eventTypes[1:], First: postgres.NowMicros}

const (
	// maxEventsCompared is roughly how many events are compared with the filter before a page ends early.
	maxEventsCompared = 2000
	// maxEventBatch is the maximum size of a batch. While a page is not full, each batch is twice as large as the last
	// one.
	maxEventBatch = 500
)

// Events returns one page of events. The query applies only the filters for which there is an index. Events then
// compares each event that was read with the whole filter.
func (t *tx) Events(filter shop.EventFilter, page shop.PageRequest) (shop.Page[shop.StoredEvent], error) {
	found, after := []shop.StoredEvent{}, page.After
	compared, batch := 0, page.Limit+1
	for {
		if filter.UsesSummaries() {
			skip := t.skipEvents
			if filter.Newest {
				skip = t.skipNewerEvents
			}
			next, err := skip(filter, after)
			if err != nil {
				return shop.Page[shop.StoredEvent]{}, err
			}
			after = next
		}
		query, args := eventsQuery(t.dialect, filter, shop.PageRequest{Limit: batch, After: after})
		events, err := all(t, scanEvent, query, args...)
		if err != nil {
			return shop.Page[shop.StoredEvent]{}, err
		}
		for _, event := range events {
			if !filter.Matches(event) {
				continue
			}
			if len(found) == page.Limit {
				return shop.Page[shop.StoredEvent]{Items: found, More: true}, nil
			}
			found = append(found, event)
		}
		if len(events) < batch {
			return shop.Page[shop.StoredEvent]{Items: found}, nil
		}
		after = &events[batch-1].ID
		if compared += batch; compared >= maxEventsCompared {
			return shop.Page[shop.StoredEvent]{Items: found, More: true, Stopped: after}, nil
		}
		batch = max(batch, min(2*batch, maxEventBatch))
	}
}

// eventsQuery returns the query for one page of events. If the filter lists subjects or event types, the query reads
// one page for each of them and merges these pages. A scan of the feed for rare types could read the whole feed.
func eventsQuery(d *dialect, filter shop.EventFilter, w shop.PageRequest) (query string, args []any) {
	c := conditions{byRow: d.byRow}
	page := func() string {
		after, order := "id > %s", "id"
		if filter.Newest {
			after, order = "id < %s", "id DESC"
		}
		query, c.args = c.page("SELECT "+eventColumns+" FROM events", w, after, order)
		return query
	}
	var parts []string
	add := func() {
		parts = append(parts, fmt.Sprintf("SELECT * FROM (%s) AS of%d", page(), len(parts)))
		c.texts, c.exact, c.value = nil, nil, nil
	}
	for _, subject := range filter.Subjects { // a subject has so few events that no index on their type is needed
		c.equal("subject", subject)
		if len(filter.Types) > 0 {
			addIn(&c, "type", filter.Types)
		}
		if len(filter.Subjects) == 1 {
			return page(), c.args
		}
		add()
	}
	if len(parts) == 0 {
		for _, kind := range filter.Types {
			c.equal("type", kind)
			add()
		}
	}
	if len(parts) == 0 {
		return page(), c.args
	}
	order := " ORDER BY id LIMIT "
	if filter.Newest {
		order = " ORDER BY id DESC LIMIT "
	}
	return strings.Join(parts, " UNION ALL ") + order + strconv.Itoa(w.Limit), c.args
}

// NewestEvents reads the inbox and the feed with one query, because an event can move from the inbox to the feed at
// any time. The events in the inbox are newer than those in the feed.
func (t *tx) NewestEvents(subject string, n int) ([]shop.StoredEvent, error) {
	newest := "SELECT " + eventColumns + ", %d AS newer FROM %s WHERE subject = $1 ORDER BY id DESC LIMIT $2"
	query := fmt.Sprintf(newest, 0, "events")
	if inbox := t.dialect.inbox; inbox != "events" {
		query = fmt.Sprintf("("+newest+") UNION ALL (%s)", 1, t.dialect.queue(inbox), query)
	}
	return all(t, scanEvent, "SELECT "+eventColumns+" FROM ("+query+") AS newest ORDER BY newer DESC, id DESC LIMIT $2", subject, n)
}

func (t *tx) LastEvent() (int64, error) {
	last, _, err := one(t, scanValue[int64], "SELECT coalesce(max(id), 0) FROM events")
	if err != nil {
		return 0, err
	}
	horizon, err := t.EventHorizon()
	if err != nil {
		return 0, err
	}
	undone, err := t.undoneRanges()
	if n := len(undone); n > 0 {
		horizon = max(horizon, undone[n-1].Resume)
	}
	return max(last, horizon), err
}

func (t *tx) EventHorizon() (int64, error) {
	text, _, err := one(t, scanValue[string], "SELECT value FROM settings WHERE name = 'event_horizon'")
	if err != nil || text == "" {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// RemoveEvents removes old events in the order of their positions. An old event that follows a newer one stays until
// the newer one is removed. Every query starts after the events that earlier calls removed. If it started at the
// beginning, it would read the removed rows again for as long as any snapshot on a PostgreSQL server can see them.
func (t *tx) RemoveEvents(before, needed, now time.Time) (more bool, err error) {
	horizon, err := t.EventHorizon()
	if err != nil {
		return false, err
	}
	reached, _, err := one(t, scanValue[int64], "SELECT coalesce(min(position), $1) FROM webhooks", int64(math.MaxInt64))
	if err != nil {
		return false, err
	}
	n, limit := 0, t.dialect.removeEvents
	var oldest []agedRow
	// Read one event first, because usually even the oldest event is too new to be removed.
	for _, many := range []int{1, limit} {
		oldest, err = all(t, scanAge, "SELECT id, at FROM events WHERE id > $1 AND at <= $2 ORDER BY id LIMIT $3",
			horizon, micros(now.Add(time.Minute)), many)
		if err != nil {
			return false, err
		}
		n = countOlder(oldest, before)
		if i := slices.IndexFunc(oldest[:n], func(r agedRow) bool { return r.id > reached }); i >= 0 {
			n = i + countOlder(oldest[i:n], needed)
		}
		if n == 0 {
			return false, nil
		}
	}
	removed, err := all(t, scanValue[int64], "SELECT id FROM events WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3", horizon, oldest[n-1].id, limit)
	if err != nil {
		return false, err
	}
	last := removed[len(removed)-1]
	removals, err := all(t, scanValue[string], "SELECT subject FROM events WHERE id > $1 AND id <= $2 AND type = '"+string(shop.PetDeleted)+"'", horizon, last)
	if err != nil {
		return false, err
	}
	for _, statement := range []string{
		"DELETE FROM events WHERE id > $1 AND id <= $2", "DELETE FROM event_blocks WHERE last_id > $1 AND last_id <= $2",
	} {
		if err := t.Exec(statement, horizon, last); err != nil {
			return false, err
		}
	}
	if err := t.removeProfiles(removals); err != nil {
		return false, err
	}
	return len(removed) == limit, t.set("event_horizon", strconv.FormatInt(last, 10))
}
