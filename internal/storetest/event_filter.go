package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// selects reports whether a filter must select an event. The tests compare its result with the result of the store.
func selects(f shop.EventFilter, e shop.StoredEvent) bool {
	hidden := strings.HasPrefix(string(e.Type), "key.") || strings.HasPrefix(string(e.Type), "webhook.")
	switch {
	case f.Types != nil && !slices.Contains(f.Types, e.Type), f.Subjects != nil && !slices.Contains(f.Subjects, e.Subject), f.Actor != "" && e.Actor != f.Actor,
		!f.Since.IsZero() && e.Time.Compare(f.Since) < 0, !f.Until.IsZero() && e.Time.Compare(f.Until) >= 0, f.Public && hidden:
		return false
	}
	return true
}

// wantWalk reads all pages of the events that match filter. It checks that they are exactly the matching elements of
// the slice all, and returns the number of pages.
func wantWalk(t *testing.T, store shop.Store, all []shop.StoredEvent, filter shop.EventFilter, limit int) (pages int) {
	t.Helper()
	var want, got []int64
	for _, e := range all {
		if selects(filter, e) {
			want = append(want, e.ID)
		}
	}
	if filter.Newest {
		slices.Reverse(want)
	}
	for request := (shop.PageRequest{Limit: limit}); ; {
		page := eventPage(t, store, filter, request)
		for _, e := range page.Items {
			got = append(got, e.ID)
		}
		pages++
		if !page.More {
			break
		}
		next := page.Next(func(e shop.StoredEvent) int64 { return e.ID })
		if request.After != nil && (next <= *request.After) != filter.Newest {
			t.Fatalf("%+v: a page after %d is followed by one after %d", filter, *request.After, next)
		}
		request.After = &next
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v: %d events were found, want %d", filter, len(got), len(want))
	}
	return pages
}

func summarize(t *testing.T, store shop.Store) {
	t.Helper()
	for {
		var block shop.EventBlock
		found := false
		read(t, store, func(tx shop.ReadTx) (err error) {
			block, found, err = tx.NextEventBlock()
			return err
		})
		if !found {
			return
		}
		write(t, store, func(tx shop.WriteTx) error { return tx.AddEventBlock(block) })
	}
}

// disordered fills a store with events whose times are out of order: the clock stands still, jumps a century ahead
// and back, is set back by a year for a while, and is behind at the end.
func disordered(t *testing.T, store shop.Store, clock *testClock) (all []shop.StoredEvent) {
	t.Helper()
	start := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	kinds := []shop.EventType{shop.PetCreated, shop.PetUpdated, shop.KeyRotated, shop.OrderPlaced}
	const each, writes = 25, 250 // 6,250 events, which fill about six blocks
	for n := range writes {
		at := start.Add(time.Duration(n/3) * time.Minute)
		switch {
		case n == 60:
			at = at.AddDate(100, 0, 0)
		case n >= 110 && n < 140:
			at = at.AddDate(-1, 0, 0)
		case n >= writes-5:
			at = start.Add(-time.Hour)
		}
		clock.set(at)
		recordMany(t, store, each, func(i int) shop.NewEvent {
			event := newEvent(kinds[(n+i)%len(kinds)], fmt.Sprintf("pets/%d", i%5))
			event.Actor = "keys/1"
			switch {
			case n == 20 || n == 230:
				event.Actor = "system"
			case n >= 150 && n < 153: // these events have more actors than the summary of a block can list
				event.Actor = fmt.Sprintf("keys/%d", 100+n*each+i)
			case i == 7 && n < 100:
				event.Actor = "keys/11"
			case n*each+i == 1023 || n*each+i == 2048: // the last and the first event of a block
				event.Actor = "keys/12"
			}
			return event
		})
	}
	return publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: each*writes + 1})
}

// filtersOf returns filters by time and by actor. Their times are those of some events, or slightly before or after
// them.
func filtersOf(all []shop.StoredEvent) (filters []shop.EventFilter) {
	var times []time.Time
	for _, i := range []int{0, 60*25 + 3, 120 * 25, len(all) / 2, len(all) - 1} {
		for _, d := range []time.Duration{0, -time.Microsecond, time.Microsecond, 500 * time.Nanosecond} {
			times = append(times, all[i].Time.Add(d))
		}
	}
	for i, at := range times {
		filters = append(filters, shop.EventFilter{Since: at}, shop.EventFilter{Until: at},
			shop.EventFilter{Since: at, Until: times[(i+5)%len(times)]}, shop.EventFilter{Since: at, Until: at})
	}
	for _, actor := range []string{"keys/1", "keys/11", "keys/12", "system", "configured", "keys/3850", "keys/3924", "keys/9"} {
		filters = append(filters, shop.EventFilter{Actor: actor},
			shop.EventFilter{Actor: actor, Since: times[4], Until: times[14], Public: true},
			shop.EventFilter{Actor: actor, Types: []shop.EventType{shop.PetUpdated, shop.KeyRotated}},
			shop.EventFilter{Actor: actor, Subjects: []string{"pets/2"}, Since: times[8]})
	}
	return append(filters, shop.EventFilter{Since: times[8], Types: []shop.EventType{shop.OrderPlaced}},
		shop.EventFilter{Until: times[8], Types: []shop.EventType{shop.OrderPlaced, shop.PetCreated}, Subjects: []string{"pets/3"}})
}

var eventFilterCases = []testCase{
	{name: "the work for one page of events is bounded, and no event is skipped", run: func(t *testing.T, store shop.Store) {
		const hidden = 5000
		recordMany(t, store, hidden+20, func(i int) shop.NewEvent {
			if i == 0 || i >= hidden {
				return newEvent(shop.PetUpdated, "pets/1")
			}
			return newEvent(shop.KeyRotated, "keys/1")
		})
		all := publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 10_000})
		for _, limit := range []int{1, 7, 100} {
			if pages := wantWalk(t, store, all, shop.EventFilter{Public: true}, limit); pages < 3 {
				t.Errorf("all %d events were compared for %d pages", len(all), pages)
			}
		}
		wantWalk(t, store, all, shop.EventFilter{Public: true, Types: []shop.EventType{shop.PetUpdated, shop.KeyRotated}}, 10)
		wantWalk(t, store, all, shop.EventFilter{Public: true, Subjects: []string{"keys/1"}}, 10)
	}},

	{name: "no event is skipped, even if times are out of order", clocked: func(t *testing.T, store shop.Store, clock *testClock) {
		all := disordered(t, store, clock)
		filters := filtersOf(all)
		newest := 0
		walk := func() {
			t.Helper()
			for i, filter := range filters {
				filter.Newest = (i+newest)%2 == 0 // the next walk goes in the other direction
				wantWalk(t, store, all, filter, []int{99, 1000}[i/2%2])
			}
			newest++
		}
		rare := shop.EventFilter{Actor: "system"}
		before := wantWalk(t, store, all, rare, 100)
		walk()
		summarize(t, store)
		walk()
		if after := wantWalk(t, store, all, rare, 100); after >= before {
			t.Errorf("a filter that few events match has %d pages with summaries and %d without", after, before)
		}
		rare.Newest = true
		if after := wantWalk(t, store, all, rare, 100); after >= before {
			t.Errorf("newest first, a filter that few events match has %d pages with summaries and %d without", after, before)
		}

		// Summaries of removed events are removed, and those of the others stay.
		for more := true; more; {
			write(t, store, func(tx shop.WriteTx) (err error) {
				more, err = tx.RemoveEvents(all[1500].Time, time.Time{}, all[1500].Time.AddDate(0, 0, 1))
				return err
			})
		}
		horizon := get(t, store, shop.ReadTx.EventHorizon)
		all = slices.DeleteFunc(all, func(e shop.StoredEvent) bool { return e.ID <= horizon })
		if horizon < 1024 || len(all) == 0 {
			t.Fatalf("the events up to %d were removed, and %d are left", horizon, len(all))
		}
		recordMany(t, store, 1500, func(i int) shop.NewEvent { return newEvent(shop.PetCreated, "pets/1") })
		all = publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 10_000})
		summarize(t, store)
		walk()
	}},
}
