package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/client"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// addPets creates available animals, without using the client.
func (s *testService) addPets(animals int) {
	s.t.Helper()
	for range animals {
		s.shop.AddPet(s.t, "Rex", 1, shop.Available)
	}
}

// history returns the ids of all events so far, oldest first.
func (s *testService) history() (ids []string) {
	s.t.Helper()
	for _, event := range collect(s.t, s.client().Events(s.t.Context(), client.EventQuery{})) {
		ids = append(ids, event.ID)
	}
	s.requests()
	return ids
}

// follow returns a sequence of all events after the one with the given id, including future events.
func follow(t *testing.T, c *client.Client, after string) iter.Seq2[client.Event, error] {
	return c.Follow(t.Context(), after, client.EventFilter{})
}

// take reads n events from a follower and returns their ids.
func take(t *testing.T, n int, events iter.Seq2[client.Event, error]) (ids []string) {
	t.Helper()
	for event, err := range events {
		if ids = append(ids, shoptest.Must(event, err)(t).ID); len(ids) == n {
			break
		}
	}
	return ids
}

// Every event is delivered exactly once and in order, no matter at which byte a connection breaks.
func TestFollowCutAtEveryByte(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		s.addPets(1) // this also creates a category, so there are two events
		want := s.history()
		for n, cut := 0, true; cut; n++ {
			cut = false
			c := s.clientWith(shoptest.AdminKey, func(connection int) int {
				cut = connection > 0
				return []int{n, math.MaxInt}[min(connection, 1)]
			})
			wantEqual(t, fmt.Sprint("delivered after a cut at byte ", n), take(t, len(want), follow(t, c, "0")), want)
			if !cut && n < 500 {
				t.Fatalf("the stream had only %d bytes", n)
			}
		}
	})
}

// Without a start position, a follower starts with the first event after it has connected, even in an empty
// store. It keeps its position if the connection breaks before the first event.
func TestFollowFromNowOn(t *testing.T) {
	for _, before := range []int{0, 2} {
		t.Run(fmt.Sprint("after ", before, " animals"), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, s *testService) {
				s.addPets(before)
				earlier := len(s.history())
				var got []string
				var group sync.WaitGroup
				group.Go(func() { got = take(t, 2, follow(t, s.client(), "")) })
				synctest.Wait() // wait until the follower is waiting for events
				s.cut()
				s.addPets(1) // these events happen before the follower has reconnected
				time.Sleep(time.Minute)
				s.cut()
				s.addPets(1)
				group.Wait()
				wantEqual(t, "delivered", got, s.history()[earlier:][:2])
			})
		})
	}
}

func TestLastEventID(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		wantEqual(t, "last event", shoptest.Must(s.client().LastEventID(t.Context()))(t), "0")
		s.addPets(1)
		history := s.history()
		last := shoptest.Must(s.client().LastEventID(t.Context()))(t)
		wantEqual(t, "last event", last, history[len(history)-1])
		for _, broken := range []fault{stream("retry: 1\n"), goIdle(":\n\n")} {
			s.injectAlways(broken)
			if got, err := s.client(client.WithRetries(1)).LastEventID(t.Context()); err == nil || len(s.requests()) != 2 {
				t.Errorf("got %q, %v", got, err)
			}
		}
		s.inject()
		s.addPets(1) // the event that happens after the call of LastEventID must not be missed
		wantEqual(t, "delivered", take(t, 1, follow(t, s.client(), last)), s.history()[len(history):])
	})
}

// A stream without events stays connected for longer than the timeout for a call and longer than the idle
// timeout.
func TestFollowStaysConnectedWithoutEvents(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		n, err := lastError(s.client().Follow(ctx, "", client.EventFilter{}))
		if requests := s.requests(); n != 0 || !errors.Is(err, context.DeadlineExceeded) || len(requests) != 1 {
			t.Errorf("ended with %v after %d events and %d requests", err, n, len(requests))
		}
	})
}

// A slow caller misses no events, even though the service drops its connection.
func TestFollowSlowCaller(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		s.addPets(60)
		want := s.history()
		slowly := func(yield func(client.Event, error) bool) {
			for event, err := range follow(t, s.client(), "0") {
				if time.Sleep(time.Minute); !yield(event, err) {
					return
				}
			}
		}
		wantEqual(t, "delivered", take(t, len(want), slowly), want)
		if requests := s.requests(); len(requests) < 2 {
			t.Errorf("got all events with %d requests", len(requests))
		}
	})
}

// If events were deleted, the caller gets an error and can continue with the events that are still available.
func TestFollowReportsExpiredEvents(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		s.addPets(3)
		old := s.history()
		time.Sleep(2 * time.Hour)
		shoptest.OK(t, s.shop.RemoveEvents(t.Context()))
		_, _, err := s.client().ListEvents(t.Context(), client.EventQuery{After: "1"})
		wantCode(t, err, client.CodeEventsExpired)
		s.addPets(1)
		var got []string
		for event, err := range follow(t, s.client(), "1") {
			if err == nil {
				got = append(got, event.ID)
				break
			}
			wantCode(t, err, client.CodeEventsExpired)
			if reset, ok := errors.AsType[*client.ResetError](err); ok {
				got = append(got, "reset to "+reset.After)
			}
			s.cut() // the follower must keep the new position when it reconnects
		}
		wantEqual(t, "delivered", got, append([]string{"reset to " + old[len(old)-1]}, s.history()...))
	}, func(o *shop.Options) { o.EventRetention = time.Hour })
}

// The tests below use a server with canned responses instead of the real service.

func eventText(id string) string {
	return fmt.Sprintf("id: %s\ndata: {\"id\":%q,\ndata: \"type\":\"pet.created\"}\n\n", id, id)
}

// unauthorized is a response that ends a follower with a permanent error.
var unauthorized = respond(401, "")

// Whatever a stream contains, each event is delivered only once. Data that cannot be decoded is an error and
// is never skipped.
func TestFollowUnusualStreams(t *testing.T) {
	expired := errorBody(410, client.CodeEventsExpired)
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		for _, c := range []struct {
			name  string
			texts []string // one stream for each connection; the server refuses the next connection
			want  string   // the ids of the delivered events
			asked string   // the Last-Event-ID header of each connection, including the refused one
		}{
			{"consecutive events", []string{eventText("6") + eventText("10"), eventText("11")}, "6 10 11", "5 10 11"},
			{"repeated events", []string{eventText("6") + eventText("6"), eventText("6") + eventText("7")}, "6 7", "5 6 7"},
			{"old events", []string{eventText("5") + eventText("4") + eventText("05") + eventText("000006")}, "000006", "5 000006"},
			{"an id without an event", []string{"id: 8\n\n", "id: 7\n\n" + eventText("8"), "id: 008\n\n"}, "", "5 8 8 008"},
			{"an id that is cleared", []string{"id: 8\n\nid\n\n"}, "", "5 8"},
			{"a truncated event", []string{eventText("6") + strings.TrimSuffix(eventText("7"), "\n"), eventText("7")}, "6 7", "5 6 7"},
			{"other messages", []string{"event: hello\nid: 6\ndata: x\n\nevent: message\n" + eventText("7")}, "7", "5 7"},
			{"a reset", []string{"event: reset\nid: 3\ndata: " + expired + "\n\n" + eventText("4")}, "reset 3 4", "5 4"},
			{"data that is not an event", []string{"id: 6\ndata: x\n\n"}, "", "5"},
			{"an event without an id", []string{"data: {\"type\":\"pet.created\"}\n\n"}, "", "5"},
			{"ids that differ", []string{"id: 6\ndata: {\"id\":\"7\"}\n\n"}, "", "5"},
			{"an id that is not a number", []string{"id: x\n\n"}, "", "5"},
			{"an id that is too long", []string{"id: 1234567890123456789\n\n"}, "", "5"},
			{"an event that is too large", []string{eventText("6") + "data: " + strings.Repeat("x", 1<<20) + "\n\n"}, "6", "5"},
			{"a reset without an id", []string{"event: reset\ndata: " + expired + "\n\n"}, "", "5"},
			{"a reset without a reason", []string{"event: reset\nid: 7\ndata: {}\n\n"}, "", "5"},
		} {
			var faults []fault
			for _, text := range c.texts {
				faults = append(faults, stream(text))
			}
			n.inject(append(faults, unauthorized)...)
			var got, asked []string
			var last error
			for event, err := range follow(t, n.client(), "5") {
				if reset, ok := errors.AsType[*client.ResetError](err); ok {
					got = append(got, "reset", reset.After)
				} else if last = err; err == nil {
					got = append(got, event.ID)
				}
			}
			for _, r := range n.requests() {
				asked = append(asked, r.header.Get("Last-Event-ID"))
				wantEqual(t, "headers", r.header.Get("Accept")+r.header.Get("Authorization"), "text/event-streamBearer "+shoptest.AdminKey)
			}
			wantEqual(t, c.name+": delivered", strings.Join(got, " "), c.want)
			wantEqual(t, c.name+": requested after", strings.Join(asked, " "), c.asked)
			want := 401
			if len(asked) == 1 { // the follower did not reconnect, because the stream was not valid
				want = 200
			}
			if e, ok := errors.AsType[*client.Error](last); !ok || e.Status != want || e.Code != client.CodeUnexpectedAnswer {
				t.Errorf("%s: ended with %v", c.name, last)
			}
		}
	})
}

// The delay before a reconnection starts at the value that the service requests and grows with each failure.
// After an event has arrived, the delay starts over.
func TestFollowReconnectDelays(t *testing.T) {
	refused := func(after string) fault { return respond(503, "", "Retry-After", after) }
	none, later := stream(""), stream("retry: 2000\n")
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		for _, c := range []struct {
			name        string
			faults      []fault   // what happens to each connection; the last fault repeats
			least, most []float64 // the expected range for each delay in seconds
		}{
			{"by itself", []fault{none}, make([]float64, 9), []float64{.25, .5, 1, 2, 4, 8, 16, 30, 30}},
			{"as asked", []fault{later}, []float64{2, 2, 2, 2, 2, 2}, []float64{4, 6, 10, 18, 32, 32}},
			{"asked once", []fault{later, none}, []float64{2, 2}, []float64{4, 6}},
			{"asked for nothing", []fault{stream("retry: 0\n")}, []float64{0, 0}, []float64{.25, .5}},
			{"asked for too much", []fault{stream("retry: 99999999999999999999\n")}, []float64{60, 60}, []float64{90, 90}},
			{"refused", []fault{later, refused("7"), refused("1"), refused("9999")}, []float64{2, 7, 2, 60}, []float64{4, 11, 10, 76}},
			{"an event", []fault{none, none, none, stream(eventText("6")), none}, make([]float64, 5), []float64{.25, .5, 1, .25, .5}},
		} {
			for range 20 {
				faults := append(slices.Clone(c.faults), slices.Repeat(c.faults[len(c.faults)-1:], len(c.most))...)
				n.inject(append(faults[:len(c.most)], unauthorized)...)
				lastError(follow(t, n.client(), "5"))
				waits := n.waits()
				wantEqual(t, c.name+": reconnections", len(waits), len(c.most))
				for i, wait := range waits {
					if wait.Seconds() < c.least[i] || wait.Seconds() >= c.most[i] {
						t.Errorf("%s: wait %d took %v, want %v to %v seconds", c.name, i, wait, c.least[i], c.most[i])
					}
				}
			}
		}
	})
}

// A follower replaces a connection that has been idle for too long.
func TestFollowReconnectsWhenIdle(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		n.inject(hang, goIdle("id: 1\n\n"), stream(eventText("2")))
		take(t, 1, follow(t, n.client(), "0"))
		sent := n.requests()
		// The first connection times out after 30 seconds, like every call. The second one is idle for 45
		// seconds.
		if took := sent[2].at.Sub(sent[0].at); took < 75*time.Second || took > 76*time.Second {
			t.Errorf("the last connection was opened after %v", took)
		}
		wantEqual(t, "position", sent[2].header.Get("Last-Event-ID"), "1")
	})
}

// A temporary error does not end a follower, but a permanent error ends it immediately. Only a follower that
// has never connected gives up after the usual number of retries.
func TestFollowRetriesTemporaryErrorsOnly(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		unavailable := refuse(503, client.CodeUnavailable, "Retry-After", "3")
		n.inject(dropRequest, unavailable, refuse(500, client.CodeInternal), stream(eventText("1")))
		take(t, 1, follow(t, n.client(), "0"))
		for status, code := range map[int]client.Code{
			400: client.CodeInvalidParameter, 401: client.CodeInvalidAPIKey, 404: client.CodeNotFound, 410: client.CodeOperationRemoved,
		} {
			n.inject(refuse(status, code))
			_, err := lastError(follow(t, n.client(), "0"))
			wantCode(t, err, code)
		}
		for status, kind := range map[int]string{200: "application/json", 204: "", 302: "text/html", 404: "text/html"} {
			n.inject(respond(status, "", "Content-Type", kind, "Location", "https://elsewhere.example/"))
			_, err := lastError(follow(t, n.client(), "0"))
			wantCode(t, err, client.CodeUnexpectedAnswer)
		}
		refused := slices.Repeat([]fault{unavailable}, 100)
		n.inject(refused...)
		_, err := lastError(follow(t, n.client(client.WithRetries(2)), "0"))
		wantCode(t, err, client.CodeUnavailable)
		wantEqual(t, "requests", len(n.requests()), 3)
		n.inject(slices.Concat([]fault{stream("")}, refused, []fault{stream(eventText("1"))})...)
		take(t, 1, follow(t, n.client(client.WithRetries(0)), "0"))
		wantEqual(t, "requests", len(n.requests()), 1+100+1)
	})
}

// A follower ends when its context ends, whatever state it is in, and leaves no goroutine behind.
func TestFollowEndsWithItsContext(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		for name, fault := range map[string]fault{
			"waiting for the response": hang, "waiting for events": goIdle(""),
			"between connections": respond(503, proxyPage, "Retry-After", "60"),
		} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Second, cancel)
			start := time.Now()
			n.injectAlways(fault)
			_, err := lastError(n.client().Follow(ctx, "", client.EventFilter{}))
			if took := time.Since(start); !errors.Is(err, context.Canceled) || took != 20*time.Second {
				t.Errorf("%s: ended with %v after %v", name, err, took)
			}
			_, followed := lastError(n.client().Follow(ctx, "", client.EventFilter{}))
			if _, err := n.client().LastEventID(ctx); !errors.Is(err, context.Canceled) || !errors.Is(followed, context.Canceled) {
				t.Errorf("%s: with an ended context: %v, %v", name, err, followed)
			}
		}
	})
}

// The service refuses imports that are larger than the limits that the client documents.
func TestImportLimits(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		_, err := s.client().ImportFile(t.Context(), client.CSV, make([]byte, client.MaxImportSize+1))
		wantCode(t, err, client.CodePayloadTooLarge)
		_, err = s.client().ImportPets(t.Context(), make([]client.NewPet, client.MaxImport+1))
		wantCode(t, err, client.CodePayloadTooLarge)
	})
}

// With many clients on a faulty network, every call that succeeds takes effect exactly once, and nothing else
// changes. Each follower gets every event exactly once and in the same order.
func TestConcurrentClientsOnAFaultyNetwork(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *testService) {
		faults := slices.Repeat([]fault{dropRequest, dropResponse, cutResponse, proxyError}, 30)
		faults = append(faults, slices.Repeat([]fault{passThrough}, 280)...)
		rand.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
		s.inject(faults...)
		ctx, stop := context.WithCancel(t.Context())
		var group, working sync.WaitGroup
		working.Go(func() { s.shop.RunJobs(ctx, func(err error) { t.Error(err) }) })
		defer func() { stop(); working.Wait() }()
		const clients, each, followers = 8, 10, 5
		delivered := make([][]string, followers)
		for i := range followers {
			c := s.clientWith(shoptest.AdminKey, func(int) int { return rand.N(4000) }, client.WithRetries(20))
			// Each animal causes three events. The first animal causes a fourth one, which creates the category.
			group.Go(func() { delivered[i] = take(t, 3*clients*each+1, follow(t, c, "0")) })
		}
		c := s.client(client.WithRetries(20))
		for i := range clients {
			group.Go(func() {
				for j := range each {
					name := fmt.Sprintf("%d of %d", j, i)
					pet, err := c.CreatePet(ctx, client.NewPet{Name: name, CategoryID: 1, Status: client.PetAvailable})
					_, orderErr := c.PlaceOrder(ctx, client.NewOrder{PetID: pet.ID, Reference: name})
					if pet.Name != name || err != nil || orderErr != nil {
						t.Errorf("%s: got %+v, %v, %v", name, pet, err, orderErr)
					}
					time.Sleep(rand.N(2 * time.Second))
				}
			})
		}
		group.Wait()
		s.inject()
		wantEqual(t, "inventory", shoptest.Must(c.Inventory(ctx))(t), client.Inventory{Pending: clients * each})
		wantEqual(t, "orders", len(collect(t, c.Orders(ctx, client.OrderQuery{}))), clients*each)
		wantEqual(t, "delivered", delivered, slices.Repeat([][]string{s.history()}, followers))
	})
}
