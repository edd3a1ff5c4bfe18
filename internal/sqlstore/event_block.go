package sqlstore

import (
	"strconv"

	"animalstore/internal/shop"
)

// A page of events by actor or time would have to compare every event, because there is no index on the actor or the
// time: it would slow down every write. A row of event_blocks says which actors and times a thousand successive events
// have, so that a page skips all events that cannot match.

const (
	// blockEvents is the number of events in a block.
	blockEvents = 1024
	// blockActors is the maximum number of actors that a block lists.
	blockActors = 32
	// blockWindow is the number of positions that one call of skipEvents looks ahead. They contain at most 32,768
	// blocks.
	blockWindow = 32_768 * blockEvents
)

// skipEvents returns the position after which a reader has to continue to find all events that match the filter. It
// skips only blocks in which no event can match. from is nil for a reader that begins with the oldest event.
func (t *tx) skipEvents(filter shop.EventFilter, from *int64) (*int64, error) {
	after := int64(0)
	if from != nil {
		after = *from
	}
	query, args := blocksQuery(filter, after)
	next, found, err := one(t, scanValue[int64], query, args...)
	if err == nil && !found { // none of the blocks in the window matches
		next, _, err = one(t, scanValue[int64], "SELECT coalesce(max(last_id), 0) FROM event_blocks WHERE last_id <= $1", after+blockWindow)
	}
	return new(max(after, next)), err
}

// skipNewerEvents is like skipEvents, but for a reader that begins with the newest event. All matching events that the
// reader has not read yet are before the returned position. skipNewerEvents skips nothing until the reader has passed
// the events that are not in a block yet.
func (t *tx) skipNewerEvents(filter shop.EventFilter, from *int64) (*int64, error) {
	covered, err := t.coveredEvents()
	if err != nil || from == nil || *from > covered+1 {
		return from, err
	}
	// end is the last position of the block that contains the next event. There are no gaps between blocks.
	end, found, err := one(t, scanValue[int64], "SELECT last_id FROM event_blocks WHERE last_id >= $1 ORDER BY last_id LIMIT 1", *from-1)
	if err != nil || !found {
		return from, err
	}
	query, args := newerBlocksQuery(filter, end)
	last, found, err := one(t, scanValue[int64], query, args...)
	if err == nil && !found { // none of the blocks in the window matches
		last, _, err = one(t, scanValue[int64], "SELECT after_id FROM event_blocks WHERE last_id > $1 ORDER BY last_id LIMIT 1", end-blockWindow)
	}
	return new(min(*from, last+1)), err
}

// blocksQuery returns a query for the start of the first block that ends after the given position and may contain an
// event that matches the filter.
func blocksQuery(filter shop.EventFilter, after int64) (query string, args []any) {
	var c conditions
	c.add("last_id > %s", after)
	c.add("last_id <= %s", after+blockWindow)
	c.addSummary(filter)
	return c.page("SELECT after_id FROM event_blocks", shop.PageRequest{Limit: 1}, "", "last_id")
}

// newerBlocksQuery returns a query for the end of the last block that ends at or before the given position and may
// contain an event that matches the filter.
func newerBlocksQuery(filter shop.EventFilter, end int64) (query string, args []any) {
	var c conditions
	c.add("last_id > %s", end-blockWindow)
	c.add("last_id <= %s", end)
	c.addSummary(filter)
	return c.page("SELECT last_id FROM event_blocks", shop.PageRequest{Limit: 1}, "", "last_id DESC")
}

// addSummary adds the condition that a block may contain an event that matches the filter.
func (c *conditions) addSummary(filter shop.EventFilter) {
	if !filter.Since.IsZero() {
		c.add("latest >= %s", micros(filter.Since))
	}
	if !filter.Until.IsZero() {
		// Until is rounded down, so events with the same rounded time may match.
		c.add("earliest <= %s", micros(filter.Until))
	}
	if filter.Actor != "" {
		c.add("(actors = '' OR actors LIKE %s)", "% "+filter.Actor+" %")
	}
}

// coveredEvents returns the position of the last event that is in a block, or 0 if there are no blocks.
func (t *tx) coveredEvents() (int64, error) {
	covered, _, err := one(t, scanValue[int64], "SELECT coalesce(max(last_id), 0) FROM event_blocks")
	return covered, err
}

// nextBlock is the query for the block of the events after position $1. It returns no row if there are too few.
var nextBlock = `
	WITH next AS MATERIALIZED (
		SELECT id, at, actor FROM events WHERE id > $1 ORDER BY id LIMIT ` + strconv.Itoa(blockEvents) + `
	), actors AS (SELECT DISTINCT actor FROM next)
	SELECT max(id), min(at), max(at),
		(SELECT CASE WHEN count(*) <= ` + strconv.Itoa(blockActors) + ` THEN ' ' || string_agg(actor, ' ') || ' ' ELSE '' END FROM actors)
	FROM next HAVING count(*) = ` + strconv.Itoa(blockEvents)

// NextEventBlock never misses an event, because every new event gets a position after all events that can already be
// read.
func (t *tx) NextEventBlock() (block shop.EventBlock, found bool, err error) {
	covered, err := t.coveredEvents()
	if err != nil {
		return block, false, err
	}
	last, err := t.LastEvent()
	if err != nil || last-covered < blockEvents { // usually, there are too few new events for a block
		return block, false, err
	}
	return one(t, func(scan Scanner) (shop.EventBlock, error) {
		var earliest, latest int64
		block := shop.EventBlock{After: covered}
		err := scan(&block.Last, &earliest, &latest, &block.Actors)
		block.Earliest, block.Latest = fromMicros(earliest), fromMicros(latest)
		return block, err
	}, nextBlock, covered)
}

// AddEventBlock stores a block only directly after the last stored one, and only if its last event still exists. So
// blocks never overlap, and none is left over when its events are removed. An event cannot be added to a block later,
// because positions only grow.
func (t *tx) AddEventBlock(block shop.EventBlock) error {
	return t.Exec(`
		INSERT INTO event_blocks (last_id, after_id, earliest, latest, actors)
		SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS TEXT)
		WHERE EXISTS (SELECT 1 FROM events WHERE id = $1) AND coalesce((SELECT max(last_id) FROM event_blocks), 0) = $2`,
		block.Last, block.After, micros(block.Earliest), micros(block.Latest), block.Actors)
}
