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

// A connection on which nothing comes any more is given up.
func TestFollowReconnectsWhenIdle(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPets(1)
		start := time.Now()
		s.inject(hang, goIdle("id: 1\n\n"))
		got := take(t, 1, s.cuttingClient(func(int) int { return neverCut }).Follow(t.Context(), "0", client.EventFilter{}))
		// The first is given up after the 30 seconds that every call has.
		if took := time.Since(start); !slices.Equal(got, []string{"2"}) || took < 75*time.Second || took > 76*time.Second {
			t.Errorf("after %v it tells %v", took, got)
		}
		if sent := s.requests(); len(sent) != 3 || sent[2].header.Get("Last-Event-ID") != "1" {
			t.Errorf("it sent %+v", sent)
		}
	})
}

// fallsSilent: the stream says something, and nothing is heard of it again.
func goIdle(text string) fault {
	return func(w http.ResponseWriter, r *http.Request, shop http.Handler) {
		respond(200, text, "Content-Type", "text/event-stream")(w, r, shop)
		http.NewResponseController(w).Flush()
		hang(w, r, shop)
	}
}

// What passes by itself does not end a follower, and what does not ends it at once.
func TestFollowRetriesTemporaryErrorsOnly(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPet("Rex")
		want := s.history()
		s.inject(dropRequest, respond(503, apiError(503, client.CodeUnavailable), "Retry-After", "3"), respond(500, apiError(500, client.CodeInternal)), cutAfterHeader)
		if got := take(t, len(want), s.client().Follow(t.Context(), "0", client.EventFilter{})); !slices.Equal(got, want) {
			t.Errorf("it tells %v, want %v", got, want)
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
			t.Errorf("%d requests were sent", n)
		}
		for _, after := range []string{"x", "-1", "+1", " 1", "1.0", "1234567890123456789", "1\r\nX-Evil: 1"} {
			if _, err := lastError(s.client().Follow(t.Context(), after, client.EventFilter{})); err == nil || len(s.requests()) != 0 {
				t.Errorf("after %q: %v", after, err)
			}
		}
	})
}

// losesHeader: the connection is cut after the beginning of a stream's answer.
func cutAfterHeader(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "text/event-stream")
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Who never gets through is told so, as with every call. Who got through once waits for better times.
func TestFollowGivesUpOnlyBeforeTheFirstConnection(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		refused := slices.Repeat([]fault{respond(503, apiError(503, client.CodeUnavailable))}, 100)
		s.inject(refused...)
		_, err := lastError(s.client(client.WithRetries(2)).Follow(t.Context(), "0", client.EventFilter{}))
		wantCode(t, err, client.CodeUnavailable)
		if n := len(s.requests()); n != 3 {
			t.Errorf("%d requests were sent", n)
		}
		s.inject()
		s.addPet("Rex")
		s.requests()
		s.inject(append([]fault{cutAfterHeader}, refused...)...)
		take(t, 2, s.client(client.WithRetries(0)).Follow(t.Context(), "0", client.EventFilter{}))
		if n := len(s.requests()); n != 1+100+1 {
			t.Errorf("%d requests were sent", n)
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

// The context ends a follower wherever it is, and nothing of it stays behind.
func TestFollowEndsWithItsContext(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, s *virtualService) {
		s.addPet("Rex")
		refused := respond(503, proxyPage, "Retry-After", "60")
		for name, fates := range map[string][]fault{
			"waiting for the answer": {hang}, "waiting for events": {passThrough}, "between connections": {refused, refused},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Second, cancel)
			start := time.Now()
			s.inject(fates...)
			_, err := lastError(s.client().Follow(ctx, "", client.EventFilter{}))
			if took := time.Since(start); !errors.Is(err, context.Canceled) || took != 20*time.Second {
				t.Errorf("%s: it ends with %v after %v", name, err, took)
			}
			if _, err := lastError(s.client().Follow(ctx, "", client.EventFilter{})); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: it begins with %v", name, err)
			}
			if _, err := s.client().LastEventID(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: it begins with %v", name, err)
			}
		}
	})
}

// Where events have been removed, the caller is told, and can go on with those that are there.
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
				s.cut() // it keeps the new place
				got = append(got, "reset")
				continue
			}
			got = append(got, event.ID)
			break
		}
		if want := append([]string{"reset"}, s.history()...); !slices.Equal(got, want) {
			t.Errorf("it tells %v, want %v", got, want)
		}
		for _, err := range s.client().Follow(t.Context(), "1", client.EventFilter{}) {
			if err == nil {
				t.Error("no reset")
			}
			break
		}
	}, func(set *serviceOptions) { set.EventRetention = time.Hour })
}
