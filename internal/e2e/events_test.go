package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	const n, followers, kills = 3, 3, 3
	f := newSharedFolder(t)
	nodes := serveNodesUnderLoad(f, n)
	b := newBalancer(t, nodes)
	l := newLoad(t)
	writer := &buyer{Client: b.client(t), load: l}
	l.start(4, func(i, n int) error {
		// An error means that the animal was not acknowledged, so it may or may not exist.
		writer.add(client.NewPet{Name: fmt.Sprintf("%d of %d", n, i), CategoryID: int64(n % 3)})
		return nil
	})
	const lastEvent = "category.created categories/99"
	ctx, cancel := context.WithTimeout(t.Context(), programtest.WaitTimeout)
	defer cancel()
	var feeds [followers][]string
	var following sync.WaitGroup
	for i := range followers {
		c := newClient(t, "http://nodes.example", flakyTransport{b})
		following.Go(func() {
			for event, err := range c.Follow(ctx, "0", client.EventFilter{}) {
				if err != nil {
					t.Errorf("follower %d: %v", i, err)
					return
				}
				feeds[i] = append(feeds[i], event.ID+" "+string(event.Type)+" "+event.Subject)
				if strings.HasSuffix(feeds[i][len(feeds[i])-1], lastEvent) {
					return
				}
			}
		})
	}
	for k := range kills {
		l.await(20)
		victim := k % n
		b.put(victim, nil)
		nodes[victim].Kill()
		nodes[victim] = serveNodesUnderLoad(f, 1)[0]
		b.put(victim, nodes[victim])
	}
	l.stop()
	if _, _, err := writer.PutCategory(ctx, 99, "the last event"); err != nil {
		t.Fatal(err)
	}
	following.Wait()
	var want []string
	for _, text := range nodes[0].Feed() {
		event := programtest.Decode[client.Event](t, text)
		want = append(want, event.ID+" "+string(event.Type)+" "+event.Subject)
	}
	for i, feed := range feeds {
		if diff := cmp.Diff(want, feed); diff != "" {
			t.Errorf("events of follower %d (-want +got):\n%s", i, diff)
		}
	}
	l.check(nodes[0]) // every acknowledged animal is stored
	announced, stored := announcedAndStored(nodes[0])
	if slices.Sort(announced); !slices.Equal(announced, stored) {
		t.Errorf("animals announced in the feed: got %v, want the stored ones %v", announced, stored)
	}
}
