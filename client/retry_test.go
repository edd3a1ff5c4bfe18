package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/client"
)

func (s *testService) countPets() (n int) {
	s.t.Helper()
	for _, err := range s.client().Pets(s.t.Context(), client.PetQuery{}) {
		must(0, err)(s.t)
		n++
	}
	return n
}

// refuseFirst returns a transport that refuses the first n connections, and a pointer to the number of
// connection attempts.
func refuseFirst(n int) (*http.Transport, *int) {
	dials := 0
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials++; dials <= n {
				address = "127.0.0.1:1" // no server listens on this port
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}, &dials
}

func TestRefusedConnectionIsRetried(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	transport, dials := refuseFirst(2)
	c := s.client(client.WithHTTPClient(&http.Client{Transport: transport}))
	must(c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
	if *dials != 3 || s.countPets() != 1 {
		t.Errorf("%d connections made %d animals", *dials, s.countPets())
	}
	transport, dials = refuseFirst(2)
	c = s.client(client.WithHTTPClient(&http.Client{Transport: transport}), client.WithRetries(1))
	_, err := c.GetPet(t.Context(), 1)
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" || *dials != 2 {
		t.Errorf("got %v after %d connections", err, *dials)
	}
	if text := err.Error(); !strings.HasPrefix(text, "animalstore: ") || !strings.Contains(text, s.url+"/pets?id=1") {
		t.Errorf("the message is %q", text)
	}
	// A request that was never sent cannot have deleted anything.
	transport, _ = refuseFirst(1)
	c = s.client(client.WithHTTPClient(&http.Client{Transport: transport}))
	wantCode(t, c.DeletePet(t.Context(), 99), client.CodeNotFound)
}

// A call is not retried if the certificate is not trusted, because a retry would fail in the same way.
func TestUntrustedCertificateIsNotRetried(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // do not log the failed handshake
	server.StartTLS()
	t.Cleanup(server.Close)
	transport, dials := refuseFirst(0)
	c := must(client.New(server.URL+"/v1", adminKey, client.WithHTTPClient(&http.Client{Transport: transport})))(t)
	if _, err := c.GetPet(t.Context(), 1); err == nil || *dials != 1 {
		t.Errorf("got %v after %d connections", err, *dials)
	}
}

func TestWhichStatusesAreRetried(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c := s.client(client.WithRetries(1))
	for _, a := range []struct {
		status   int
		code     client.Code // the error code; if empty, the response is a proxy's error page
		attempts int
	}{
		{400, client.CodeValidationFailed, 1},
		{400, "", 1},
		{401, client.CodeInvalidAPIKey, 1},
		{403, client.CodeInsufficientScope, 1},
		{404, client.CodePetNotFound, 1},
		{405, client.CodeMethodNotAllowed, 1},
		{408, "", 1},
		{409, client.CodePetNotAvailable, 1},
		{409, client.CodeIdempotencyKeyInUse, 2},
		{410, client.CodeOperationRemoved, 1},
		{412, client.CodePreconditionFailed, 1},
		{413, client.CodePayloadTooLarge, 1},
		{422, client.CodeIdempotencyKeyReused, 1},
		{429, client.CodeRateLimited, 2},
		{429, "", 2},
		{500, client.CodeInternal, 1},
		{500, "", 1},
		{501, "", 1},
		{502, "", 2},
		{503, client.CodeUnavailable, 2},
		{503, "", 2},
		{504, "", 2},
		{520, "", 1},
	} {
		body, want := apiError(a.status, a.code), a.code
		if a.code == "" {
			body, want = proxyPage, client.CodeUnexpectedAnswer
		}
		response := respond(a.status, body, "Content-Type", "text/html", "X-Request-Id", "r1")
		s.inject(response, response, response)
		_, err := c.PlaceOrder(t.Context(), client.NewOrder{PetID: 1})
		e, ok := errors.AsType[*client.Error](err)
		if !ok || e.Code != want || e.Status != a.status || e.Message == "" || e.RequestID != "r1" {
			t.Errorf("%d %s: got %+v", a.status, a.code, err)
		}
		if n := len(s.requests()); n != a.attempts {
			t.Errorf("%d %s: %d attempts, want %d", a.status, a.code, n, a.attempts)
		}
	}
}

func TestZeroRetriesSendsOnce(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c := s.client(client.WithRetries(0))
	for _, f := range []fault{dropRequest, dropResponse, respond(503, proxyPage)} {
		s.inject(f)
		if _, err := c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}); err == nil {
			t.Error("got no error")
		}
	}
	if n := len(s.requests()); n != 3 {
		t.Errorf("sent %d requests", n)
	}
}

// An attempt that gets no response times out, and the next attempt succeeds.
func TestTimedOutAttemptIsRetried(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	s.inject(hang)
	h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Second}
	must(s.client(client.WithHTTPClient(h)).CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
	if n := s.countPets(); n != 1 {
		t.Errorf("there are %d animals", n)
	}
}

func TestOwnIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c, ctx := s.client(), t.Context()
	rex := client.NewPet{Name: "Rex", CategoryID: 1}
	seen := map[int64]bool{}
	for _, name := range []string{"k", " k", "k ", `"k"`, `\`, `a"b\"c`, "import 2026-11-15, line 7", strings.Repeat("~", 255)} {
		first := must(c.CreatePet(ctx, rex, client.IdempotencyKey(name)))(t)
		again := must(c.CreatePet(ctx, rex, client.IdempotencyKey(name)))(t)
		if first != again || seen[first.ID] {
			t.Errorf("%q: got %+v and %+v", name, first, again)
		}
		seen[first.ID] = true
		_, err := c.CreatePet(ctx, client.NewPet{Name: "Mia", CategoryID: 1}, client.IdempotencyKey(name))
		wantCode(t, err, client.CodeIdempotencyKeyReused)
	}
	if first, second := must(c.CreatePet(ctx, rex))(t), must(c.CreatePet(ctx, rex))(t); first.ID == second.ID {
		t.Error("two calls without a key were treated as one")
	}
	s.requests()
	for _, name := range []string{"", strings.Repeat("x", 256), "a\nb", "schlüssel"} {
		if _, err := c.CreatePet(ctx, rex, client.IdempotencyKey(name)); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("sent %d requests", n)
	}
}

// Requests with the same idempotency key all get the response to the first request, even if that request is
// still running when they arrive.
func TestConcurrentRequestsWithOneIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c := s.client(client.WithRetries(20)) // on a busy machine, the first request may run for a long time
	pets := make([]client.Pet, 10)
	var group sync.WaitGroup
	for i := range pets {
		group.Go(func() {
			var err error
			pets[i], err = c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}, client.IdempotencyKey("one"))
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, pet := range pets {
		if pet != pets[0] || pet.ID == 0 {
			t.Errorf("got %+v and %+v", pet, pets[0])
		}
	}
	if n := s.countPets(); n != 1 {
		t.Errorf("there are %d animals", n)
	}
}

// The service's rate limit slows a client down, but every call succeeds in the end.
func TestRateLimitedCallsSucceedEventually(t *testing.T) {
	t.Parallel()
	s := newTestService(t, func(set *serviceOptions) { set.RateLimit = 2 })
	c := s.client()
	const n = 6 // more requests than the rate limit allows in one burst
	for range n {
		must(c.CreatePet(t.Context(), client.NewPet{Name: "Rex", CategoryID: 1}))(t)
	}
	if got := s.countPets(); got != n {
		t.Errorf("there are %d animals", got)
	}
	impatient := s.client(client.WithRetries(0))
	for {
		if _, err := impatient.Inventory(t.Context()); err != nil {
			wantCode(t, err, client.CodeRateLimited)
			if e, _ := errors.AsType[*client.Error](err); e.Status != 429 || e.RetryAfter < time.Second {
				t.Errorf("got %+v", e)
			}
			return
		}
	}
}

// With many clients on a faulty network, every call that succeeds takes effect exactly once, and nothing else
// changes.
func TestConcurrentClientsOnAFaultyNetwork(t *testing.T) {
	t.Parallel()
	s := newTestService(t)
	c := s.client(client.WithRetries(20))
	var faults []fault
	for range 1000 {
		faults = append(faults, passThrough)
		if rand.N(4) == 0 {
			faults = append(faults, []fault{dropRequest, dropResponse, cutResponse, respondAfter(502)}[rand.N(4)])
		}
	}
	s.inject(faults...)
	const clients, each = 8, 10
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			for j := range each {
				name := fmt.Sprintf("%d of %d", j, i)
				pet, err := c.CreatePet(t.Context(), client.NewPet{Name: name, CategoryID: 1, Status: client.PetAvailable})
				if err != nil || pet.Name != name {
					t.Errorf("%s: got %+v, %v", name, pet, err)
					return
				}
				if _, err := c.PlaceOrder(t.Context(), client.NewOrder{PetID: pet.ID, Reference: name}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	group.Wait()
	s.inject()
	inventory := must(c.Inventory(t.Context()))(t)
	if inventory != (client.Inventory{Pending: clients * each}) {
		t.Errorf("the inventory is %+v", inventory)
	}
	references := map[string]bool{}
	for order, err := range c.Orders(t.Context(), client.OrderQuery{}) {
		if references[must(order, err)(t).Reference] {
			t.Errorf("%s was ordered twice", order.Reference)
		}
		references[order.Reference] = true
	}
	if len(references) != clients*each {
		t.Errorf("there are %d orders", len(references))
	}
}
