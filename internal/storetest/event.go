package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"animalstore/internal/shop"
)

// recordEvents inserts events in a separate write transaction.
func recordEvents(t *testing.T, store shop.Store, events ...shop.NewEvent) {
	t.Helper()
	write(t, store, func(tx shop.WriteTx) error {
		for _, event := range events {
			if err := tx.InsertEvents(event); err != nil {
				return err
			}
		}
		return nil
	})
}

// publishedEvents publishes all events and returns one page of the events that match filter.
func publishedEvents(t *testing.T, store shop.Store, filter shop.EventFilter, w shop.PageRequest) []shop.StoredEvent {
	t.Helper()
	if err := store.Publish(t.Context()); err != nil {
		t.Fatalf("publish: %v", err)
	}
	return eventPage(t, store, filter, w).Items
}

func eventPage(t *testing.T, store shop.Store, filter shop.EventFilter, w shop.PageRequest) shop.Page[shop.StoredEvent] {
	t.Helper()
	return get(t, store, func(tx shop.ReadTx) (shop.Page[shop.StoredEvent], error) { return tx.Events(filter, w) })
}

// recordMany records n events in one transaction. The function named of returns the event with the index i.
func recordMany(t *testing.T, store shop.Store, n int, of func(i int) shop.NewEvent) {
	t.Helper()
	events := make([]shop.NewEvent, n)
	for i := range events {
		events[i] = of(i)
	}
	write(t, store, func(tx shop.WriteTx) error { return tx.InsertEvents(events...) })
}

func newEvent(kind shop.EventType, subject string) shop.NewEvent {
	return shop.NewEvent{Type: kind, Subject: subject, Actor: "keys/7", Data: []byte(`{"current":{"name":"Žofka 🐈"},"previous":null}`)}
}

func wantPositions(t *testing.T, store shop.Store, last, horizon int64) {
	t.Helper()
	gotLast, gotHorizon := get(t, store, shop.ReadTx.LastEvent), get(t, store, shop.ReadTx.EventHorizon)
	if gotLast != last || gotHorizon != horizon {
		t.Errorf("the last event is %d and the horizon %d, want %d and %d", gotLast, gotHorizon, last, horizon)
	}
	if resume := get(t, store, func(tx shop.ReadTx) (int64, error) { return tx.ResumePosition(last) }); resume != 0 {
		t.Errorf("a store that was never restored resumes at %d", resume)
	}
}

var eventCases = []testCase{
	{name: "events are stored in order", run: func(t *testing.T, store shop.Store) {
		wantPositions(t, store, 0, 0)
		want := []shop.NewEvent{newEvent(shop.PetCreated, "pets/1"), newEvent(shop.PetUpdated, "pets/1"), newEvent(shop.OrderPlaced, "store/orders/9")}
		for i := range 233 { // record enough events that several statements are needed to insert them
			want = append(want, newEvent(shop.PetCreated, fmt.Sprintf("pets/%d", i)))
		}
		start := time.Now().Add(-time.Minute)
		recordEvents(t, store, want[:2]...)
		write(t, store, func(tx shop.WriteTx) error { return tx.InsertEvents(want[2:]...) })
		got := publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 1000})
		var events []shop.NewEvent
		var ids []int64
		for _, e := range got {
			events, ids = append(events, e.NewEvent), append(ids, e.ID)
			if e.Time.Before(start) || e.Time.After(time.Now().Add(time.Minute)) || e.Time.Location() != time.UTC {
				t.Errorf("the event %d has the time %v", e.ID, e.Time)
			}
		}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Error(diff)
		}
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(want) {
			t.Errorf("the positions are %v", ids)
		}
		wantPositions(t, store, ids[len(ids)-1], 0)
	}},

	{name: "the event of a failed write is never published", run: func(t *testing.T, store shop.Store) {
		store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			if err := tx.InsertEvents(newEvent(shop.PetCreated, "pets/1")); err != nil {
				t.Error(err)
			}
			return errOnPurpose
		})
		if events := publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 10}); len(events) != 0 {
			t.Errorf("%+v", events)
		}
	}},

	{name: "the feed is read in pages, and filters combine", run: func(t *testing.T, store shop.Store) {
		kinds := shop.EventTypes()[:3]
		for i := range 12 {
			recordEvents(t, store, newEvent(kinds[i%3], fmt.Sprintf("pets/%d", i%2)))
		}
		all := publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 100})
		if len(all) != 12 {
			t.Fatalf("there are %d events, want 12", len(all))
		}
		for _, types := range [][]shop.EventType{nil, kinds[:1], kinds[1:], {shop.KeyRevoked}} {
			for _, subjects := range [][]string{nil, {"pets/0"}, {"pets/9"}, {"pets/9", "pets/1"}} {
				for _, from := range []*int64{nil, new(int64(0)), &all[5].ID, &all[11].ID} {
					want := slices.DeleteFunc(slices.Clone(all), func(e shop.StoredEvent) bool {
						return len(types) > 0 && !slices.Contains(types, e.Type) || len(subjects) > 0 && !slices.Contains(subjects, e.Subject) || from != nil && e.ID <= *from
					})
					filter := shop.EventFilter{Types: types, Subjects: subjects}
					got := publishedEvents(t, store, filter, shop.PageRequest{Limit: 3, After: from})
					if diff := cmp.Diff(want[:min(3, len(want))], got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("%+v (-want +got)\n%s", filter, diff)
					}
				}
			}
		}
	}},

	{name: "the oldest events are removed, and their positions are never reused", run: func(t *testing.T, store shop.Store) {
		for range 5 {
			recordEvents(t, store, newEvent(shop.PetCreated, "pets/1"))
		}
		all := publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 10})
		remove := func(before time.Time) {
			t.Helper()
			write(t, store, func(tx shop.WriteTx) error {
				more, err := tx.RemoveEvents(before, before, time.Now())
				if more {
					t.Error("RemoveEvents reports more")
				}
				return err
			})
		}
		remove(all[0].Time.Add(-time.Hour))
		wantPositions(t, store, all[4].ID, 0)
		remove(time.Now().Add(time.Hour))
		wantPositions(t, store, all[4].ID, all[4].ID)
		remove(time.Now().Add(time.Hour))
		wantPositions(t, store, all[4].ID, all[4].ID)
		recordEvents(t, store, newEvent(shop.PetCreated, "pets/2"))
		rest := publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 10})
		if len(rest) != 1 || rest[0].ID <= all[4].ID {
			t.Errorf("%+v after %d", rest, all[4].ID)
		}
	}},

	{name: "events that a webhook has not reached are removed later", run: func(t *testing.T, store shop.Store) {
		for range 5 {
			recordEvents(t, store, newEvent(shop.PetCreated, "pets/1"))
		}
		all, soon := publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 10}), time.Now().Add(time.Hour)
		for _, position := range []int64{all[3].ID, all[1].ID} {
			addWebhook(t, store, shop.Webhook{URL: "http://x", WebhookProgress: shop.WebhookProgress{Position: position}})
		}
		for _, c := range []struct {
			needed  time.Time
			horizon int64
		}{{all[0].Time, all[1].ID}, {soon, all[4].ID}} {
			write(t, store, func(tx shop.WriteTx) error {
				_, err := tx.RemoveEvents(soon, c.needed, soon)
				return err
			})
			wantPositions(t, store, all[4].ID, c.horizon)
		}
	}},

	{name: "many events are removed in batches", run: func(t *testing.T, store shop.Store) {
		write(t, store, func(tx shop.WriteTx) error {
			return tx.InsertEvents(slices.Repeat([]shop.NewEvent{newEvent(shop.KeyCreated, "keys/1")}, 10_001)...)
		})
		publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 1})
		batches := 0
		for more := true; more; batches++ {
			write(t, store, func(tx shop.WriteTx) (err error) {
				more, err = tx.RemoveEvents(time.Now().Add(time.Hour), time.Time{}, time.Now())
				return err
			})
		}
		if batches < 2 {
			t.Errorf("all events were removed in one transaction")
		}
		if events := publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 1}); len(events) != 0 {
			t.Errorf("events are left: %+v", events)
		}
	}},

	{name: "a reader beside many writers sees every event once and in order", run: func(t *testing.T, store shop.Store) {
		const writers, each = 8, 25
		var wg sync.WaitGroup
		done := make(chan struct{})
		for w := range writers {
			wg.Go(func() {
				for n := range each {
					subject := fmt.Sprintf("pets/%d", w)
					err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
						return tx.InsertEvents(shop.NewEvent{Type: shop.PetUpdated, Subject: subject, Actor: "system", Data: fmt.Appendf(nil, "%d", n)})
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		go func() { wg.Wait(); close(done) }()
		next := map[string]int{}
		last := int64(0)
		for seen, ended := 0, false; ; {
			select {
			case <-done:
				ended = true
			default:
			}
			events := publishedEvents(t, store, shop.EventFilter{}, shop.PageRequest{Limit: 10, After: &last})
			for _, e := range events {
				if want := fmt.Sprint(next[e.Subject]); e.ID <= last || string(e.Data) != want {
					t.Fatalf("position %d is followed by %d with change %s of %s, want change %s", last, e.ID, e.Data, e.Subject, want)
				}
				last = e.ID
				next[e.Subject]++
				seen++
			}
			if ended && len(events) == 0 {
				if seen != writers*each {
					t.Errorf("%d events were read, want %d", seen, writers*each)
				}
				return
			}
		}
	}},

	{name: "a write wakes the listener", run: func(t *testing.T, store shop.Store) {
		wakeups := store.Wakeups()
		for range 2 {
			recordEvents(t, store, newEvent(shop.PetCreated, "pets/1"))
			select {
			case <-wakeups:
			case <-time.After(time.Minute):
				t.Fatal("no wake-up within a minute")
			}
		}
	}},
}
