package workload

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"sync"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// follower follows the event stream over connections that break. It is also restarted from time to time and
// then continues after the last event that it received.
type follower struct {
	l      *Load
	api    *client.Client
	http   *http.Client
	starts int

	mu   sync.Mutex
	last string
	seen []string // a description of each event that was received
}

func newFollower(l *Load) *follower {
	f := &follower{l: l, last: "0", http: &http.Client{Transport: &http.Transport{}, Timeout: programtest.WaitTimeout}}
	f.api = l.newClient(l.streamProxy.url(), f.http)
	return f
}

// describe returns the ID of an event and a hash of its content.
func describe(e client.Event) string {
	sum := fnv.New64a()
	fmt.Fprint(sum, e.Type, e.Subject, e.Source, e.Actor, e.Time.UnixMicro(), string(e.Data.Current), string(e.Data.Previous))
	return fmt.Sprintf("%s %x", e.ID, sum.Sum64())
}

// run receives events until the context ends.
func (f *follower) run(ctx context.Context) {
	defer f.http.CloseIdleConnections()
	for ctx.Err() == nil {
		f.starts++
		life, end := context.WithTimeout(ctx, RandomTime(200, 4200))
		for event, err := range f.api.Follow(life, f.last, client.EventFilter{}) {
			if err != nil {
				if e, responded := errors.AsType[*client.Error](err); responded && e.Status != http.StatusServiceUnavailable {
					f.l.Problem("a follower got %v, want no error but 503", err)
				}
				break
			}
			f.mu.Lock()
			f.seen, f.last = append(f.seen, describe(event)), event.ID
			f.mu.Unlock()
		}
		end()
	}
}

func (f *follower) lastSeen() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}
