package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// readFeed publishes all events and reads those after the given position. It returns the subjects of these
// events and the position of the last one.
func readFeed(t *testing.T, store *Store, after int64) (subjects []string, reached int64) {
	t.Helper()
	must(t, store.Publish(t.Context()))
	return readPublished(t, store, after)
}

// readPublished is like readFeed but publishes nothing.
func readPublished(t *testing.T, store *Store, after int64) (subjects []string, reached int64) {
	t.Helper()
	read(t, store, func(tx shop.ReadTx) error {
		subjects, reached = nil, after
		events, err := tx.Events(shop.EventFilter{}, shop.PageRequest{Limit: 10_000, After: &after})
		for _, e := range events.Items {
			subjects, reached = append(subjects, e.Subject), e.ID
		}
		return err
	})
	return subjects, reached
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
		err := store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
			err := telling("late")(tx)
			enter()
			<-release
			return err
		})
		if err != nil {
			t.Errorf("the late write: %v", err)
		}
	})
	<-entered
	var position int64
	// While the transaction is open, the reader receives the events of later transactions.
	for i, node := range []*Store{store, other, store} {
		want := fmt.Sprintf("early %d", i)
		write(t, node, telling(want))
		var got []string
		if got, position = readFeed(t, other, position); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
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
	h := newFaultHarness(t, newDatabase(t))
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
		write(t, h.store, telling(want[i]))
		cut := time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, func() {
			h.proxy.Cut()
			h.proxy.Heal()
		})
		h.store.Publish(t.Context()) // Publish may fail, because the connection may be cut
		cut.Stop()
	}
	h.proxy.Heal()
	if got, _ := readFeed(t, h.store, 0); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Positions in the feed that have been read are not assigned again after a failover, because nobody can read an event
// before the synchronous replica has it. In this test, the primary is lost while a publication is waiting for the
// replica. The positions of this publication are assigned again, but nobody has read them. The positions that were read
// are safe, although PostgreSQL does not log every step of a sequence.
func TestReadPositionsAreNotAssignedAgainAfterFailover(t *testing.T) {
	t.Parallel()
	primary, replica := pgtest.StartWithReplica(t, true)
	store := open(t, pgtest.FailoverURL(primary, replica), Options{})
	h := &faultHarness{T: t, store: store, direct: pgtest.Connect(t, primary.URL())}
	h.setBudget(ample)
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprint(i))
		write(t, store, telling(want[i]))
	}
	got, reached := readFeed(t, store, 0)
	write(t, store, telling("late"))
	replica.Stop(t)
	h.setBudget(shortBudget)
	if err := store.Publish(t.Context()); err == nil {
		t.Fatal("a publication succeeded without the replica")
	}
	h.direct.Await("the publication to wait for the replica",
		"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%event_inbox%')")
	h.setBudget(ample)
	if early, _ := readPublished(t, store, reached); len(early) > 0 {
		t.Errorf("read %q, which the replica lacks", early)
	}
	primary.Kill(t)
	replica.Restart(t)
	replica.Promote(t)
	write(t, store, telling("after"))
	more, _ := readFeed(t, store, reached)
	if got, want = append(got, more...), append(want, "late", "after"); !slices.Equal(got, want) {
		t.Errorf("followed the events %q, want %q", got, want)
	}
	if all, _ := readPublished(t, store, 0); !slices.Equal(all, want) {
		t.Errorf("the feed has %q, want %q", all, want)
	}
}

// A node is woken up when another node publishes events, even after the server has terminated the connection on which
// the first node listens.
func TestPublicationWakesOtherNodes(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	notices := open(t, database, Options{}).Wakeups()
	other, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	const listeners = " FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
	for range 2 {
		direct.Await("a listener", "SELECT count(*) = 1"+listeners)
		write(t, other, telling("there"))
		must(t, other.Publish(t.Context()))
		pgtest.AwaitSignal(t, "a notification", notices)
		direct.Do("SELECT pg_terminate_backend(pid)" + listeners)
		direct.Await("the listener to disconnect", "SELECT count(*) = 0"+listeners)
	}
}

// Two nodes never publish at the same time. The second node waits until the first node has committed.
func TestNodesPublishOneAtATime(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	write(t, store, telling("first"))
	slow, err := direct.Conn(t.Context()) // stands for a slow node that holds the lock
	must(t, err)
	defer slow.Close()
	_, err = slow.ExecContext(t.Context(), "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT one FROM event_turn FOR UPDATE")
	must(t, err)
	write(t, store, telling("second"))
	var publication sync.WaitGroup
	publication.Go(func() {
		if err := store.Publish(t.Context()); err != nil {
			t.Error(err)
		}
	})
	direct.AwaitLockWait()
	_, err = slow.ExecContext(t.Context(), strings.Join(strings.Split(publishSQL, ";")[4:], ";"))
	must(t, err)
	publication.Wait()
	if got, _ := readFeed(t, store, 0); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("got %q, want first and second", got)
	}
}
