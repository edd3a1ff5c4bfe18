package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"animalstore/client"
)

// A follower replaces a connection that has been idle for too long.
func TestFollowReconnectsWhenIdle(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPets(1)
		start := time.Now()
		s.inject(hang, goIdle("id: 1\n\n"))
		got := take(t, 1, s.cuttingClient(func(int) int { return neverCut }).Follow(t.Context(), "0", client.EventFilter{}))
		// The first connection times out after 30 seconds, like every call. The second one is idle for 45
		// seconds.
		if took := time.Since(start); !slices.Equal(got, []string{"2"}) || took < 75*time.Second || took > 76*time.Second {
			t.Errorf("after %v it has delivered %v", took, got)
		}
		if sent := s.requests(); len(sent) != 3 || sent[2].header.Get("Last-Event-ID") != "1" {
			t.Errorf("sent %+v", sent)
		}
	})
}

// goIdle returns a fault that sends a text on the stream and then sends nothing more.
func goIdle(text string) fault {
	return func(w http.ResponseWriter, r *http.Request, service http.Handler) {
		respond(200, text, "Content-Type", "text/event-stream")(w, r, service)
		http.NewResponseController(w).Flush()
		hang(w, r, service)
	}
}

// A temporary error does not end a follower, but a permanent error ends it immediately.
func TestFollowRetriesTemporaryErrorsOnly(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPet("Rex")
		want := s.history()
		s.inject(dropRequest, respond(503, apiError(503, client.CodeUnavailable), "Retry-After", "3"), respond(500, apiError(500, client.CodeInternal)), cutAfterHeader)
		if got := take(t, len(want), s.client().Follow(t.Context(), "0", client.EventFilter{})); !slices.Equal(got, want) {
			t.Errorf("delivered %v, want %v", got, want)
		}
		s.requests()
		for _, a := range []struct {
			status int
			code   client.Code
		}{
			{400, client.CodeInvalidParameter}, {401, client.CodeInvalidAPIKey}, {403, client.CodeInsufficientScope},
			{404, client.CodeNotFound}, {410, client.CodeOperationRemoved},
		} {
			s.inject(respond(a.status, apiError(a.status, a.code)))
			_, err := lastError(s.client().Follow(t.Context(), "0", client.EventFilter{}))
			wantCode(t, err, a.code)
		}
		for _, f := range []fault{
			respond(200, "[]", "Content-Type", "application/json"), respond(204, ""), respond(404, proxyPage),
			respond(302, "", "Location", "https://elsewhere.example/"), respond(200, proxyPage, "Content-Type", "text/html"),
		} {
			s.inject(f)
			_, err := lastError(s.client().Follow(t.Context(), "0", client.EventFilter{}))
			wantCode(t, err, client.CodeUnexpectedAnswer)
		}
		if n := len(s.requests()); n != 10 {
			t.Errorf("sent %d requests", n)
		}
		for _, after := range []string{"x", "-1", "+1", " 1", "1.0", "1234567890123456789", "1\r\nX-Evil: 1"} {
			if _, err := lastError(s.client().Follow(t.Context(), after, client.EventFilter{})); err == nil || len(s.requests()) != 0 {
				t.Errorf("after %q: %v", after, err)
			}
		}
	})
}

// cutAfterHeader cuts the connection after it has sent the response headers of a stream.
func cutAfterHeader(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "text/event-stream")
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// A follower that cannot connect gives up after the usual number of retries. A follower that has connected at
// least once keeps trying.
func TestFollowGivesUpOnlyBeforeTheFirstConnection(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		refused := slices.Repeat([]fault{respond(503, apiError(503, client.CodeUnavailable))}, 100)
		s.inject(refused...)
		_, err := lastError(s.client(client.WithRetries(2)).Follow(t.Context(), "0", client.EventFilter{}))
		wantCode(t, err, client.CodeUnavailable)
		if n := len(s.requests()); n != 3 {
			t.Errorf("sent %d requests", n)
		}
		s.inject()
		s.addPet("Rex")
		s.requests()
		s.inject(append([]fault{cutAfterHeader}, refused...)...)
		take(t, 2, s.client(client.WithRetries(0)).Follow(t.Context(), "0", client.EventFilter{}))
		if n := len(s.requests()); n != 1+100+1 {
			t.Errorf("sent %d requests", n)
		}
	})
}

func TestFollowEndsWhenTheKeyIsRevoked(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		key := must(s.client().CreateKey(t.Context(), client.NewKey{Name: "x", Scopes: []client.Scope{client.ScopeEventsRead}}))(t)
		n := 0
		var last error
		for _, last = range s.clientWith(key.Secret).Follow(t.Context(), "0", client.EventFilter{}) {
			if last == nil {
				n++
				if err := s.client().RevokeKey(t.Context(), key.ID); n == 1 && err != nil {
					t.Error(err)
				}
			}
		}
		wantCode(t, last, client.CodeInvalidAPIKey)
		other := must(s.client().CreateKey(t.Context(), client.NewKey{Name: "x", Scopes: []client.Scope{client.ScopePetsRead}}))(t)
		_, err := lastError(s.clientWith(other.Secret).Follow(t.Context(), "0", client.EventFilter{}))
		wantCode(t, err, client.CodeInsufficientScope)
	})
}

// A follower ends when its context ends, whatever state it is in, and leaves no goroutine behind.
func TestFollowEndsWithItsContext(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPet("Rex")
		refused := respond(503, proxyPage, "Retry-After", "60")
		for name, faults := range map[string][]fault{
			"waiting for the response": {hang}, "waiting for events": {passThrough}, "between connections": {refused, refused},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Second, cancel)
			start := time.Now()
			s.inject(faults...)
			_, err := lastError(s.client().Follow(ctx, "", client.EventFilter{}))
			if took := time.Since(start); !errors.Is(err, context.Canceled) || took != 20*time.Second {
				t.Errorf("%s: ended with %v after %v", name, err, took)
			}
			if _, err := lastError(s.client().Follow(ctx, "", client.EventFilter{})); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: with an ended context: %v", name, err)
			}
			if _, err := s.client().LastEventID(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: with an ended context: %v", name, err)
			}
		}
	})
}

// If events were deleted, the caller gets an error and can continue with the events that are still available.
func TestFollowReportsExpiredEvents(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPets(3)
		old := s.history()
		time.Sleep(2 * time.Hour)
		if err := s.service.RemoveEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.client().ListEvents(t.Context(), client.EventQuery{After: "1"})
		wantCode(t, err, client.CodeEventsExpired)
		s.addPet("Mia")
		var got []string
		for event, err := range s.cuttingClient(func(int) int { return neverCut }).Follow(t.Context(), "1", client.EventFilter{}) {
			if err != nil {
				reset, ok := errors.AsType[*client.ResetError](err)
				if !ok || reset.After != old[len(old)-1] || len(got) != 0 {
					t.Fatalf("after %v: %v", got, err)
				}
				wantCode(t, err, client.CodeEventsExpired)
				s.cut() // the follower must keep the new position when it reconnects
				got = append(got, "reset")
				continue
			}
			got = append(got, event.ID)
			break
		}
		if want := append([]string{"reset"}, s.history()...); !slices.Equal(got, want) {
			t.Errorf("delivered %v, want %v", got, want)
		}
		for _, err := range s.client().Follow(t.Context(), "1", client.EventFilter{}) {
			if err == nil {
				t.Error("no reset was reported")
			}
			break
		}
	}, func(set *serviceOptions) { set.EventRetention = time.Hour })
}
