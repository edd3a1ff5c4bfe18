package sqlstore

import (
	"slices"
	"strings"

	"animalstore/internal/shop"
)

const (
	// blockEvents is the number of events in a block.
	blockEvents = 1024
	// blockActors is the maximum number of actors that a block lists.
	blockActors = 32
	// blocksAtOnce is the maximum number of blocks that one call of NextEventBlocks returns.
	blocksAtOnce = 4
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

// NextEventBlocks summarizes events that are not in a block yet. A block never misses an event, because every new event
// gets a position after all events that can already be read.
func (t *tx) NextEventBlocks() (blocks []shop.EventBlock, err error) {
	covered, err := t.coveredEvents()
	if err != nil {
		return nil, err
	}
	last, err := t.LastEvent()
	if err != nil || last-covered < blockEvents { // usually, there are too few new events for a block
		return nil, err
	}
	for range blocksAtOnce {
		block, full, err := t.nextBlock(covered)
		if err != nil || !full {
			return blocks, err
		}
		blocks, covered = append(blocks, block), block.Last
	}
	return blocks, nil
}

// nextBlock returns the block that begins after the given position. full is false if there are not enough events for
// a block.
func (t *tx) nextBlock(after int64) (block shop.EventBlock, full bool, err error) {
	type event struct {
		id, at int64
		actor  string
	}
	events, err := allUpTo(t, blockEvents, func(scan Scanner) (e event, err error) {
		err = scan(&e.id, &e.at, &e.actor)
		return e, err
	}, "SELECT id, at, actor FROM events WHERE id > $1 ORDER BY id LIMIT $2", after, blockEvents)
	if err != nil || len(events) < blockEvents {
		return block, false, err
	}
	earliest, latest, actors := events[0].at, events[0].at, []string(nil)
	for _, e := range events {
		earliest, latest = min(earliest, e.at), max(latest, e.at)
		if !slices.Contains(actors, e.actor) && len(actors) <= blockActors {
			actors = append(actors, e.actor)
		}
	}
	if len(actors) > blockActors {
		actors = nil
	}
	return shop.EventBlock{After: after, Last: events[blockEvents-1].id, Earliest: fromMicros(earliest), Latest: fromMicros(latest), Actors: actors}, true, nil
}

// AddEventBlocks stores a block only directly after the last stored one, and only if its last event still exists. So
// blocks never overlap, and none is left over when its events are removed. An event cannot be added to a block later,
// because positions only grow.
func (t *tx) AddEventBlocks(blocks []shop.EventBlock) error {
	covered, err := t.coveredEvents()
	if err != nil {
		return err
	}
	for _, block := range blocks {
		_, exists, err := one(t, scanValue[int64], "SELECT id FROM events WHERE id = $1", block.Last)
		if err != nil || !exists || block.After != covered {
			return err
		}
		actors := ""
		if block.Actors != nil {
			actors = " " + strings.Join(block.Actors, " ") + " "
		}
		err = t.exec("INSERT INTO event_blocks (last_id, after_id, earliest, latest, actors) VALUES ($1, $2, $3, $4, $5)",
			block.Last, block.After, micros(block.Earliest), micros(block.Latest), actors)
		if err != nil {
			return err
		}
		covered = block.Last
	}
	return nil
}
