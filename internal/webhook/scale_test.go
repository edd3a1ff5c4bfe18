package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// manyWebhooks is the number of webhooks in the scale tests.
const manyWebhooks = 1000

// newServerFixture returns a fixture with a PostgreSQL store, and a connection to its database.
func newServerFixture(t *testing.T) (*fixture, *pgtest.DB) {
	t.Helper()
	s := shoptest.Open(t, shoptest.Options{Postgres: true})
	return &fixture{s, t}, pgtest.Connect(t, s.Database)
}

// subscribeMany creates webhooks for pet.created events. Their URLs end with their ids.
func subscribeMany(db *pgtest.DB, url string, n int) {
	db.Do(fmt.Sprintf(`INSERT INTO webhooks (url, types, enabled, created_at, updated_at, position)
			SELECT '%s/' || n, 'pet.created', 1, 1, 1, (SELECT coalesce(max(id), 0) FROM events) FROM generate_series(1, %d) AS n`, url, n),
		fmt.Sprintf("INSERT INTO webhook_secrets (webhook_id, secret, created_at) SELECT id, '%s', 1 FROM webhooks", testSecret))
}

// countTransactions counts the transactions that the service begins.
func (o *fixture) countTransactions() (reads, writes *atomic.Int64) {
	reads, writes = &atomic.Int64{}, &atomic.Int64{}
	o.Store.FailWith(func(write bool) error {
		if write {
			writes.Add(1)
		} else {
			reads.Add(1)
		}
		return nil
	})
	return reads, writes
}

// While nothing happens, a node needs one transaction each time it looks for something to send, however many webhooks
// there are. It needs none to find out that there are no new events.
func TestIdleLookIsOneTransaction(t *testing.T) {
	t.Parallel()
	o, db := newServerFixture(t)
	subscribeMany(db, "http://127.0.0.1:1", manyWebhooks)
	node := must(o.Node(t.Context(), shop.Options{}))(t)
	stop := runService(t, node)
	programtest.Await(t, "the feed", func() bool { _, _, ok := node.RecentEvents(shop.EventFilter{}, 0); return ok })
	queue := node.NewWebhookQueue()
	look := func() {
		if batches, err := queue.Lease(t.Context(), shop.Room{Total: maxInFlight}); len(batches) > 0 || err != nil {
			t.Fatalf("%d webhooks were leased: %v", len(batches), err)
		}
		if err := queue.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look() // the first look also reads the webhooks
	stop()
	const looks = 20
	reads, writes := o.countTransactions()
	start := time.Now()
	for range looks {
		look()
	}
	took := time.Since(start)
	if r, w := reads.Load(), writes.Load(); r != looks || w != 0 {
		t.Errorf("%d looks began %d reads and %d writes, want one read for each look", looks, r, w)
	}
	t.Logf("%d webhooks: %d looks took %v", manyWebhooks, looks, took)
}

// runService runs the jobs of a service and returns a function that stops the jobs.
func runService(t *testing.T, s *shop.Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.RunJobs(ctx, func(err error) { t.Error(err) }) })
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return stop
}

// An event reaches each of a thousand webhooks exactly once, even if some of them never respond. Its message is not stored
// again for those that accept it.
func TestEventReachesAThousandWebhooks(t *testing.T) {
	t.Parallel()
	o, db := newServerFixture(t)
	const dead = 10
	isDead := func(path string) bool { return len(path) == 2 || path == "/10" } // the first ten webhooks do not respond
	release := make(chan struct{})
	var mu sync.Mutex
	got, bodies := map[string]int{}, map[string]int{}
	server := newReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got[r.URL.Path]++
		bodies[string(body)]++
		mu.Unlock()
		if isDead(r.URL.Path) {
			<-release
		}
	})
	subscribeMany(db, server.URL, manyWebhooks)
	_, stop := o.dispatch(true)
	o.createPets(1)
	succeeded := func() bool {
		return pgtest.Value[int64](db, "SELECT count(*) FROM webhook_deliveries WHERE status = 'succeeded'") == manyWebhooks-dead
	}
	programtest.Await(t, "the deliveries to all that respond", succeeded)
	if n := pgtest.Value[int64](db, "SELECT sum(length(body)) FROM webhook_deliveries WHERE status = 'succeeded'"); n != 0 {
		t.Errorf("the deliveries that succeeded store %d bytes of messages", n)
	}
	close(release)
	stop()
	mu.Lock()
	defer mu.Unlock()
	if len(got) != manyWebhooks || len(bodies) != 1 {
		t.Errorf("%d webhooks got %d different messages", len(got), len(bodies))
	}
	for path, times := range got {
		if times != 1 && !isDead(path) { // on a busy machine, an attempt without a response may be repeated
			t.Errorf("%s got the message %d times", path, times)
		}
	}
}

// Failing webhooks get at most half of the concurrent attempts, so that other webhooks do not have to wait until the
// failing ones time out.
func TestFailingWebhooksLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	o, db := newServerFixture(t)
	var mu sync.Mutex
	hanging, most, release := 0, 0, make(chan struct{})
	server := newReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/healthy") {
			return
		}
		mu.Lock()
		hanging++
		most = max(most, hanging)
		mu.Unlock()
		<-release
		mu.Lock()
		hanging--
		mu.Unlock()
	})
	const failing, half = 2 * maxInFlight / shop.MaxBatch, maxInFlight / 2
	subscribeMany(db, server.URL, failing)
	db.Do("UPDATE webhooks SET failing_since = 1")
	o.dispatch(true)
	o.createPets(shop.MaxBatch)
	isFull := func() bool { mu.Lock(); defer mu.Unlock(); return hanging >= half }
	programtest.Await(t, "attempts that hang", isFull)
	healthy := o.subscribe(server.URL + "/healthy")
	o.createPets(3)
	o.awaitSucceeded(healthy, 3)
	mu.Lock()
	if most != half {
		t.Errorf("%d attempts to failing webhooks were in flight, want %d", most, half)
	}
	mu.Unlock()
	close(release)
}
