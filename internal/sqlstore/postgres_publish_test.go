package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
)

// readFeed publishes all events and reads those after the given position. It returns the subjects of these
// events and the position of the last one.
func readFeed(t *testing.T, store *Store, after int64) (subjects []string, reached int64) {
	t.Helper()
	if err := store.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := store.Read(t.Context(), func(tx shop.ReadTx) error {
		subjects, reached = nil, after
		events, err := tx.Events(shop.EventFilter{}, shop.PageRequest{Limit: 10_000, After: &after})
		for _, e := range events {
			subjects, reached = append(subjects, e.Subject), e.ID
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return subjects, reached
}

func telling(subject string) func(shop.WriteTx) error {
	return func(tx shop.WriteTx) error {
		return tx.InsertEvents(shop.NewEvent{Type: shop.PetUpdated, Subject: subject, Actor: "system", Data: []byte("{}")})
	}
}

// A transaction inserts an event and commits after later transactions. A reader that has already read the
// events from the later transactions does not miss this event.
func TestLateCommitIsNotSkippedByTheFeed(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, other := open(t, database, Options{}), open(t, database, Options{})
	entered, release := make(chan struct{}), make(chan struct{})
	enter := sync.OnceFunc(func() { close(entered) })
	var late sync.WaitGroup
	late.Go(func() {
		err := store.Write(t.Context(), func(tx shop.WriteTx) error {
			if err := telling("late")(tx); err != nil {
				return err
			}
			enter()
			<-release
			return nil
		})
		if err != nil {
			t.Errorf("the late write: %v", err)
		}
	})
	<-entered
	var position int64
	for i, node := range []*Store{store, other, store} { // the reader advances past the open transaction
		want := fmt.Sprintf("early %d", i)
		if err := node.Write(t.Context(), telling(want)); err != nil {
			t.Fatal(err)
		}
		var got []string
		if got, position = readFeed(t, other, position); !slices.Equal(got, []string{want}) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	close(release)
	late.Wait()
	for _, node := range []*Store{store, other} {
		if got, _ := readFeed(t, node, position); !slices.Equal(got, []string{"late"}) {
			t.Errorf("got %q, want the late event", got)
		}
	}
}

// The feed contains every event exactly once, even if the connection is cut at any point during a
// publication.
func TestInterruptedPublicationLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	h := newFaultHarness(t)
	var want []string
	for i := range 20 {
		subject := fmt.Sprint(i)
		want = append(want, subject)
		if err := h.store.Write(t.Context(), telling(subject)); err != nil {
			t.Fatal(err)
		}
		cut := time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, func() {
			h.proxy.Cut()
			h.proxy.Heal()
		})
		h.store.Publish(t.Context()) // may fail, because the connection may be cut
		cut.Stop()
	}
	h.proxy.Heal()
	if got, _ := readFeed(t, h.store, 0); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A node is woken up when another node publishes events.
func TestPublicationWakesOtherNodes(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, other := open(t, database, Options{}), open(t, database, Options{})
	notices := store.Wakeups()
	direct := openDirect(t, database)
	awaitRow(t, direct, "a listener", "SELECT count(*) = 1"+fromListeners)
	if err := other.Write(t.Context(), telling("there")); err != nil {
		t.Fatal(err)
	}
	if err := other.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-notices:
	case <-time.After(time.Minute):
		t.Error("no notification arrived")
	}
}

// The listener reconnects after the server has terminated its connection.
func TestListenerReconnects(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store := open(t, database, Options{})
	notices := store.Wakeups()
	direct := openDirect(t, database)
	for range 2 {
		awaitRow(t, direct, "a listener", "SELECT count(*) = 1"+fromListeners)
		if _, err := direct.Exec("NOTIFY animalstore_events"); err != nil {
			t.Fatal(err)
		}
		<-notices
		if _, err := direct.Exec("SELECT pg_terminate_backend(pid)" + fromListeners); err != nil {
			t.Fatal(err)
		}
		awaitRow(t, direct, "the listener to disconnect", "SELECT count(*) = 0"+fromListeners)
	}
}

// fromListeners is the part of a query that selects the sessions of all listeners.
const fromListeners = " FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"

// Two nodes never publish at the same time. The second node waits until the first node has committed.
func TestNodesPublishOneAtATime(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), openDirect(t, database)
	if err := store.Write(t.Context(), telling("first")); err != nil {
		t.Fatal(err)
	}
	slow, err := direct.Conn(t.Context()) // represents a slow node that holds the lock
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	rest := strings.Split(publishSQL, ";")[2:]
	for _, statement := range []string{"BEGIN ISOLATION LEVEL READ COMMITTED", "SELECT one FROM event_turn FOR UPDATE"} {
		if _, err := slow.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Write(t.Context(), telling("second")); err != nil {
		t.Fatal(err)
	}
	var publication sync.WaitGroup
	publication.Go(func() {
		if err := store.Publish(t.Context()); err != nil {
			t.Error(err)
		}
	})
	awaitRow(t, direct, "the second publication to wait", "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")
	for _, statement := range rest {
		if _, err := slow.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	publication.Wait()
	if got, _ := readFeed(t, store, 0); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("got %q", got)
	}
}
