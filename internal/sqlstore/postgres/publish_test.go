package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore/engine"
)

// readFeed publishes all rows and reads those after the given position. It returns their texts and the position of the
// last one.
func readFeed(t *testing.T, store *node, after int64) (texts []string, reached int64) {
	t.Helper()
	must(t, store.Publish(t.Context()))
	return readPublished(t, store, after)
}

// readPublished is like readFeed but publishes nothing.
func readPublished(t *testing.T, store *node, after int64) (texts []string, reached int64) {
	t.Helper()
	must(t, store.Read(t.Context(), func(tx *engine.Tx) error {
		texts, reached = nil, after
		_, err := engine.All(tx, func(scan engine.Scanner) (text string, err error) {
			err = scan(&reached, &text)
			texts = append(texts, text)
			return text, err
		}, "SELECT id, text FROM news WHERE id > $1 ORDER BY id", after)
		return err
	}))
	return texts, reached
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
		err := store.Write(t.Context(), func(tx *engine.Tx) error {
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
	for i, node := range []*node{store, other, store} {
		want := fmt.Sprintf("early %d", i)
		write(t, node, telling(want))
		var got []string
		if got, position = readFeed(t, other, position); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	close(release)
	late.Wait()
	for _, node := range []*node{store, other} {
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
	h.setTimeout(ample)
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprint(i))
		write(t, store, telling(want[i]))
	}
	got, reached := readFeed(t, store, 0)
	write(t, store, telling("late"))
	replica.Stop(t)
	h.setTimeout(shortTimeout)
	if err := store.Publish(t.Context()); err == nil {
		t.Fatal("a publication succeeded without the replica")
	}
	h.direct.Await("the publication to wait for the replica",
		"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '%news_inbox%')")
	h.setTimeout(ample)
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
	notices := make(chan struct{}, 1)
	listener := open(t, database, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() {
		listener.Listen(ctx, func() {
			select {
			case notices <- struct{}{}:
			default: // one is already pending
			}
		})
	})
	defer listening.Wait()
	defer cancel()
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
	_, err = slow.ExecContext(t.Context(), "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT one FROM news_turn FOR UPDATE")
	must(t, err)
	write(t, store, telling("second"))
	var publication sync.WaitGroup
	publication.Go(func() {
		if err := store.Publish(t.Context()); err != nil {
			t.Error(err)
		}
	})
	direct.AwaitLockWait()
	_, err = slow.ExecContext(t.Context(), strings.Join(strings.Split(store.options.Feed.publishSQL(), ";")[5:], ";"))
	must(t, err)
	publication.Wait()
	if got, _ := readFeed(t, store, 0); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("got %q, want first and second", got)
	}
}

// After a dump has been restored on another server, where transaction ids are lower, rows are published as before.
func TestWatermarksOfAnotherServerAreDropped(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	direct := pgtest.Connect(t, database)
	direct.Do("INSERT INTO queue_marks (queue, xid) VALUES ('news_inbox', '4611686018427387904')",
		"INSERT INTO news_inbox (xid, text) VALUES ('4611686018427387905', 'restored')")
	store := open(t, database, Options{})
	write(t, store, telling("new"))
	if got, _ := readFeed(t, store, 0); !slices.Equal(got, []string{"restored", "new"}) {
		t.Errorf("got %q", got)
	}
}

// A publication waits for the lock of another node only for a while. If the time is over, it fails, and the server is
// not considered lost.
func TestPublicationThatWaitsForALockGivesUp(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, direct := open(t, database, Options{}), pgtest.Connect(t, database)
	write(t, store, telling("first"))
	other, err := direct.Begin()
	must(t, err)
	defer other.Rollback()
	_, err = other.Exec("SELECT one FROM news_turn FOR UPDATE")
	must(t, err)
	store.cancelTimeout = ample // so that a slow response from a busy machine does not look like a lost server
	store.epoch.Store(1)        // so that connections that still have the default timeout are not used
	store.timeout = 2 * shortTimeout
	wantUnavailable(t, "a publication", store.Publish(t.Context()))
	if epoch, discarded := store.epoch.Load(), store.pool.Stat().TotalConns() == 0; epoch != 1 || discarded {
		t.Errorf("the epoch is %d, and the connection was discarded: %v", epoch, discarded)
	}
	must(t, other.Rollback())
	store.timeout = ample
	if got, _ := readFeed(t, store, 0); !slices.Equal(got, []string{"first"}) {
		t.Errorf("got %q, want the event", got)
	}
}
