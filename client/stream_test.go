package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"animalstore/client"
	"animalstore/internal/shoptest"
)

// These tests follow streams that a canned server sends.

func eventText(id string) string {
	return fmt.Sprintf("id: %s\ndata: {\"id\":%q,\ndata: \"type\":\"pet.created\"}\n\n", id, id)
}

// unauthorized ends a follower.
var unauthorized = respond(401, "")

// Whatever a stream contains, each event is delivered only once. Data that cannot be decoded is an error and
// is never skipped.
func TestFollowUnusualStreams(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts []string    // what the service sends on each connection
		want  []string    // the ids of the delivered events
		asked []string    // the Last-Event-ID header of each reconnection
		code  client.Code // the expected error code; if empty, the connections break until the key is refused
	}{
		{"consecutive events", []string{eventText("6") + eventText("10"), eventText("11")}, []string{"6", "10", "11"}, []string{"10", "11"}, ""},
		{"repeated events", []string{eventText("6") + eventText("6"), eventText("6") + eventText("7") + eventText("5")}, []string{"6", "7"}, []string{"6", "7"}, ""},
		{"old events", []string{eventText("5") + eventText("4") + eventText("05") + eventText("000006")}, []string{"000006"}, []string{"000006"}, ""},
		{"an id without an event", []string{"id: 8\n\n", "id: 7\n\n" + eventText("8"), "id: 008\n\n"}, nil, []string{"8", "8", "008"}, ""},
		{"an id that is cleared", []string{"id: 8\n\nid\n\n"}, nil, []string{"8"}, ""},
		{"a truncated event", []string{eventText("6") + strings.TrimSuffix(eventText("7"), "\n"), eventText("7")}, []string{"6", "7"}, []string{"6", "7"}, ""},
		{"other messages", []string{"event: hello\nid: 6\ndata: x\n\nevent: message\n" + eventText("7")}, []string{"7"}, []string{"7"}, ""},
		{"data that is not an event", []string{"id: 6\ndata: x\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"an event without an id", []string{"data: {\"type\":\"pet.created\"}\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"ids that differ", []string{"id: 6\ndata: {\"id\":\"7\"}\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"an id that is not a number", []string{"id: x\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"an id that is too long", []string{"id: 1234567890123456789\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"an event that is too large", []string{eventText("6") + "data: " + strings.Repeat("x", 1<<20) + "\n\n"}, []string{"6"}, nil, client.CodeUnexpectedAnswer},
		{"a reset without an id", []string{"event: reset\ndata: " + errorBody(410, client.CodeEventsExpired) + "\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"a reset without a reason", []string{"event: reset\nid: 7\ndata: {}\n\n"}, nil, nil, client.CodeUnexpectedAnswer},
		{"a reset", []string{"event: reset\nid: 3\ndata: " + errorBody(410, client.CodeEventsExpired) + "\n\n" + eventText("4")}, []string{"reset 3", "4"}, []string{"4"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			withCannedResponses(t, func(t *testing.T, n *testNetwork) {
				var faults []fault
				for _, text := range c.texts {
					faults = append(faults, stream(text))
				}
				n.inject(append(faults, unauthorized)...)
				var got, asked []string
				var last error
				for event, err := range n.client().Follow(t.Context(), "5", client.EventFilter{}) {
					if reset, ok := errors.AsType[*client.ResetError](err); ok {
						got = append(got, "reset "+reset.After)
					} else if last = err; err == nil {
						got = append(got, event.ID)
					}
				}
				sent := n.requests()
				for _, r := range sent[1:] {
					asked = append(asked, r.header.Get("Last-Event-ID"))
				}
				if !slices.Equal(got, c.want) || !slices.Equal(asked, c.asked) {
					t.Errorf("delivered %q, requested after %q", got, asked)
				}
				if e, ok := errors.AsType[*client.Error](last); !ok || c.code != "" && e.Code != c.code || c.code == "" && e.Status != 401 {
					t.Errorf("ended with %v", last)
				}
				if first := sent[0].header; first.Get("Accept") != "text/event-stream" || first.Get("Last-Event-ID") != "5" || first.Get("Authorization") != "Bearer "+shoptest.AdminKey {
					t.Errorf("the first request has the headers %v", first)
				}
			})
		})
	}
}

// The delay before a reconnection starts at the value that the service requests and grows with each failure.
// After an event has arrived, the delay starts over.
func TestFollowReconnectDelays(t *testing.T) {
	refused := func(after string) fault { return respond(503, "", "Retry-After", after) }
	const second = time.Second
	for _, c := range []struct {
		name        string
		faults      []fault // the last one repeats
		least, most []time.Duration
	}{
		{"by itself", []fault{stream("")},
			[]time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0},
			[]time.Duration{second / 4, second / 2, second, 2 * second, 4 * second, 8 * second, 16 * second, 30 * second, 30 * second}},
		{"as asked", []fault{stream("retry: 2000\n\n")},
			[]time.Duration{2 * second, 2 * second, 2 * second, 2 * second, 2 * second, 2 * second},
			[]time.Duration{4 * second, 6 * second, 10 * second, 18 * second, 32 * second, 32 * second}},
		{"asked once", []fault{stream("retry: 2000\n"), stream("")},
			[]time.Duration{2 * second, 2 * second}, []time.Duration{4 * second, 6 * second}},
		{"asked for nothing", []fault{stream("retry: 0\n")},
			[]time.Duration{0, 0}, []time.Duration{second / 4, second / 2}},
		{"asked for too much", []fault{stream("retry: 99999999999999999999\n")},
			[]time.Duration{time.Minute, time.Minute}, []time.Duration{90 * second, 90 * second}},
		{"refused", []fault{stream("retry: 2000\n"), refused("7"), refused("1"), refused("9999")},
			[]time.Duration{2 * second, 7 * second, 2 * second, time.Minute}, []time.Duration{4 * second, 11 * second, 10 * second, 76 * second}},
		{"an event", []fault{stream(""), stream(""), stream(""), stream(eventText("6")), stream("")},
			[]time.Duration{0, 0, 0, 0, 0}, []time.Duration{second / 4, second / 2, second, second / 4, second / 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			withCannedResponses(t, func(t *testing.T, n *testNetwork) {
				for range 20 {
					faults := append(slices.Clone(c.faults), slices.Repeat(c.faults[len(c.faults)-1:], len(c.most))...)
					n.inject(append(faults[:len(c.most)], unauthorized)...)
					lastError(n.client().Follow(t.Context(), "5", client.EventFilter{}))
					waits := n.waits()
					wantEqual(t, "reconnections", len(waits), len(c.most))
					for i, wait := range waits {
						if wait < c.least[i] || wait >= c.most[i] {
							t.Errorf("wait %d took %v, want %v to %v", i, wait, c.least[i], c.most[i])
						}
					}
				}
			})
		})
	}
}

// A follower replaces a connection that has been idle for too long.
func TestFollowReconnectsWhenIdle(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		n.inject(hang, goIdle("id: 1\n\n"), stream(eventText("2")))
		take(t, 1, n.client().Follow(t.Context(), "0", client.EventFilter{}))
		sent := n.requests()
		// The first connection times out after 30 seconds, like every call. The second one is idle for 45
		// seconds.
		if took := sent[2].at.Sub(sent[0].at); took < 75*time.Second || took > 76*time.Second {
			t.Errorf("the last connection was opened after %v", took)
		}
		wantEqual(t, "position", sent[2].header.Get("Last-Event-ID"), "1")
	})
}

// A temporary error does not end a follower, but a permanent error ends it immediately.
func TestFollowRetriesTemporaryErrorsOnly(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		c, ctx := n.client(), t.Context()
		n.inject(dropRequest, refuse(503, client.CodeUnavailable, "Retry-After", "3"), refuse(500, client.CodeInternal), cutAfterHeader, stream(eventText("1")))
		take(t, 1, c.Follow(ctx, "0", client.EventFilter{}))
		for status, code := range map[int]client.Code{
			400: client.CodeInvalidParameter, 401: client.CodeInvalidAPIKey, 403: client.CodeInsufficientScope, 404: client.CodeNotFound, 410: client.CodeOperationRemoved,
		} {
			n.inject(refuse(status, code))
			_, err := lastError(c.Follow(ctx, "0", client.EventFilter{}))
			wantCode(t, err, code)
		}
		for _, f := range []fault{
			respond(200, "[]", "Content-Type", "application/json"), respond(204, ""), respond(404, proxyPage),
			respond(302, "", "Location", "https://elsewhere.example/"), respond(200, proxyPage, "Content-Type", "text/html"),
		} {
			n.inject(f)
			_, err := lastError(c.Follow(ctx, "0", client.EventFilter{}))
			wantCode(t, err, client.CodeUnexpectedAnswer)
		}
	})
}

// A follower that cannot connect gives up after the usual number of retries. A follower that has connected at
// least once keeps trying.
func TestFollowGivesUpOnlyBeforeTheFirstConnection(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		refused := slices.Repeat([]fault{refuse(503, client.CodeUnavailable)}, 100)
		n.inject(refused...)
		_, err := lastError(n.client(client.WithRetries(2)).Follow(t.Context(), "0", client.EventFilter{}))
		wantCode(t, err, client.CodeUnavailable)
		wantEqual(t, "requests", len(n.requests()), 3)
		n.inject(slices.Concat([]fault{cutAfterHeader}, refused, []fault{stream(eventText("1"))})...)
		take(t, 1, n.client(client.WithRetries(0)).Follow(t.Context(), "0", client.EventFilter{}))
		wantEqual(t, "requests", len(n.requests()), 1+100+1)
	})
}

// A follower ends when its context ends, whatever state it is in, and leaves no goroutine behind.
func TestFollowEndsWithItsContext(t *testing.T) {
	withCannedResponses(t, func(t *testing.T, n *testNetwork) {
		refused := respond(503, proxyPage, "Retry-After", "60")
		for name, faults := range map[string][]fault{
			"waiting for the response": {hang}, "waiting for events": {goIdle("")}, "between connections": {refused, refused},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Second, cancel)
			start := time.Now()
			n.inject(faults...)
			_, err := lastError(n.client().Follow(ctx, "", client.EventFilter{}))
			if took := time.Since(start); !errors.Is(err, context.Canceled) || took != 20*time.Second {
				t.Errorf("%s: ended with %v after %v", name, err, took)
			}
			if _, err := lastError(n.client().Follow(ctx, "", client.EventFilter{})); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: with an ended context: %v", name, err)
			}
			if _, err := n.client().LastEventID(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: with an ended context: %v", name, err)
			}
		}
	})
}
