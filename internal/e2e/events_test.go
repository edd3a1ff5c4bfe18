package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// flakyTransport is an HTTP transport that cuts off each response body after a random number of bytes.
type flakyTransport struct{ http.RoundTripper }

func (f flakyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := f.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = &flakyBody{response.Body, rand.IntN(40_000)}
	}
	return response, err
}

type flakyBody struct {
	io.ReadCloser
	remaining int
}

func (b *flakyBody) Read(p []byte) (int, error) {
	if b.remaining <= 0 {
		return 0, errors.New("connection lost (simulated)")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.remaining)])
	b.remaining -= n
	return n, err
}

// TestFollowersReceiveEveryEventOnce writes to all nodes while it kills nodes and breaks the followers'
// connections. Every follower must receive every event exactly once and in order.
func TestFollowersReceiveEveryEventOnce(t *testing.T) {
	t.Parallel()
	const n, writers, followers, kills = 3, 4, 3, 3
	f, _ := newSharedFolder(t)
	nodes := serveNodesUnderLoad(f, n)
	b := newBalancer(t, nodes)
	var killing atomic.Bool
	killing.Store(true)
	var writing sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[int64]bool{}
	for w := range writers {
		writing.Go(func() {
			c := b.client(t)
			for i := 0; killing.Load(); i++ {
				pet, err := c.CreatePet(t.Context(), client.NewPet{Name: fmt.Sprintf("%d of %d", i, w), CategoryID: int64(i % 3)})
				if err != nil {
					continue // the animal was not acknowledged, so it may or may not exist
				}
				mu.Lock()
				acknowledged[pet.ID] = true
				mu.Unlock()
			}
		})
	}
	feeds := make([][]string, followers)
	var following sync.WaitGroup
	followContext, stopFollowing := context.WithCancel(t.Context())
	defer stopFollowing()
	var reached [followers]atomic.Value
	for i := range followers {
		c, err := client.New("http://nodes.example/v1", programtest.AdminKey, client.WithHTTPClient(&http.Client{Transport: flakyTransport{b}}))
		if err != nil {
			t.Fatal(err)
		}
		following.Go(func() {
			for event, err := range c.Follow(followContext, "0", client.EventFilter{}) {
				if err != nil {
					if followContext.Err() == nil {
						t.Errorf("follower %d: %v", i, err)
					}
					return
				}
				feeds[i] = append(feeds[i], fmt.Sprint(event.ID, " ", event.Type, " ", event.Subject))
				reached[i].Store(event.ID)
			}
		})
	}
	for k := range kills {
		programtest.Await(t, "more animals to be created", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(acknowledged) > 20*(k+1)
		})
		victim := k % n
		b.put(victim, nil)
		nodes[victim].Kill()
		nodes[victim] = serveNodesUnderLoad(f, 1)[0]
		b.put(victim, nodes[victim])
	}
	killing.Store(false)
	writing.Wait()

	var want []string
	eventCount := map[int64]int{}
	last := ""
	for event, err := range b.client(t).Events(t.Context(), client.EventQuery{Limit: 100}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprint(event.ID, " ", event.Type, " ", event.Subject))
		last = event.ID
		if event.Type == client.EventPetCreated {
			pet, _, err := event.Pet()
			if err != nil {
				t.Fatal(err)
			}
			eventCount[pet.ID]++
		}
	}
	for i := range followers {
		programtest.Await(t, fmt.Sprintf("follower %d to receive the last event", i), func() bool { return reached[i].Load() == any(last) })
	}
	stopFollowing()
	following.Wait()
	for i, feed := range feeds {
		if diff := cmp.Diff(want, feed); diff != "" {
			t.Errorf("events of follower %d (-want +got):\n%s", i, diff)
		}
	}
	for id := range acknowledged {
		if eventCount[id] != 1 {
			t.Errorf("pet.created events of acknowledged animal %d: got %d, want 1", id, eventCount[id])
		}
	}
	for _, pet := range nodes[0].Walk() {
		if eventCount[pet.ID] != 1 {
			t.Errorf("pet.created events of stored animal %d: got %d, want 1", pet.ID, eventCount[pet.ID])
		}
	}
}

// TestFollowerOfOneNodeReceivesEventsOfAnother follows one node and writes to another. The nodes must tell each
// other about new events, which the test hears, too, so that followers need not wait for the next poll.
func TestFollowerOfOneNodeReceivesEventsOfAnother(t *testing.T) {
	t.Parallel()
	f, database := newSharedFolder(t)
	nodes := serveNodesUnderLoad(f, 2)
	ctx, stop := context.WithTimeout(t.Context(), programtest.WaitTimeout)
	defer stop()
	listener, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close(context.Background())
	if _, err := listener.Exec(ctx, "LISTEN animalstore_events"); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(nodes[1].URL+"/v1", programtest.AdminKey)
	if err != nil {
		t.Fatal(err)
	}
	next, end := iter.Pull2(c.Follow(ctx, "0", client.EventFilter{Types: []client.EventType{client.EventPetCreated}}))
	defer end()
	for i := range 5 {
		created, _ := nodes[0].Create(programtest.Pet{Name: fmt.Sprint("Rex ", i), CategoryID: 1})
		event, err, _ := next()
		if want := fmt.Sprint("pets/", created.ID); err != nil || event.Subject != want {
			t.Fatalf("event %d: got %+v, %v, want the subject %s", i, event, err, want)
		}
	}
	if _, err := listener.WaitForNotification(ctx); err != nil {
		t.Errorf("the nodes did not notify each other: %v", err)
	}
}
