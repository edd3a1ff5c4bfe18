package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/web"
)

// overHTTP2 serves the shop over TLS and HTTP/2 and counts the connections.
func (s *testShop) overHTTP2(handler http.Handler) (connections *atomic.Int64) {
	s.t.Helper()
	connections = &atomic.Int64{}
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	s.t.Cleanup(server.Close)
	s.url, s.client = server.URL, server.Client()
	if got := s.do("GET", "/v1/pets", ""); got.ProtoMajor != 2 {
		s.t.Fatalf("it is %s", got.Proto)
	}
	return connections
}

// deadlines is an http.ResponseWriter that stores the last write deadline.
type deadlines struct {
	http.ResponseWriter
	last *atomic.Value // a time.Time
}

func (d deadlines) SetWriteDeadline(deadline time.Time) error {
	d.last.Store(deadline)
	return http.NewResponseController(d.ResponseWriter).SetWriteDeadline(deadline)
}

func (d deadlines) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// A stream may be idle for longer than its write timeout. Over HTTP/2, a deadline that is still set would reset the
// stream.
func TestIdleStreamHasNoWriteDeadline(t *testing.T) {
	s := parallelShop(t)
	s.runJobs()
	var last atomic.Value
	s.overHTTP2(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.api.ServeHTTP(deadlines{w, &last}, r) }))
	last.Store(time.Now()) // the stream must clear this deadline
	wantIdle := func() {
		t.Helper()
		programtest.Await(t, "the deadline to be cleared", func() bool { return last.Load().(time.Time).IsZero() })
	}
	r := s.follow("")
	r.wantStart("0")
	wantIdle()
	last.Store(time.Now())
	s.AddPet(t, "Rex", 1, "")
	r.wantEvents("category.created categories/1", "pet.created pets/1")
	wantIdle()
	s.api.Stopping()
	r.wantEnd()
}

// If a request is refused before its body is read, the connection stays open for the other requests that share it.
func TestUnreadBodyOverHTTP2KeepsTheConnection(t *testing.T) {
	s := parallelShop(t)
	connections := s.overHTTP2(s.api)
	for range 3 {
		s.do("POST", "/v1/pets", strings.Repeat(" ", 1<<20), "Authorization: ").wantError(t, 401, shop.MissingAPIKey)
	}
	s.do("POST", "/v1/pets", strings.Repeat(" ", maxBodyBytes+1)).wantError(t, 413, shop.PayloadTooLarge)
	if n := connections.Load(); n != 1 {
		t.Errorf("the requests came over %d connections, want 1", n)
	}
}

// Every response has the nosniff header. It also has Strict-Transport-Security if the service itself serves the
// standard HTTPS port.
func TestEveryResponseHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tls              bool
		public, strictly string
	}{
		{true, "", ""}, {false, "https://pets.example.com/v1", ""}, {true, "https://pets.example.com:8443/v1", ""},
		{true, "https://pets.example.com/v1", "max-age=31536000"},
	} {
		s := newShop(t, func(config *Config) { config.TLS, config.PublicURL = c.tls, c.public })
		for _, got := range []testResponse{
			s.do("GET", "/v1/pets", ""), s.do("GET", "/v1/nothing", ""), s.do("GET", "/v1/pets", "", "Authorization: "),
			s.do("OPTIONS", "/v1/pets", ""), s.do("PUT", "/v1/pets", ""), s.do("GET", "/livez", ""), s.do("GET", "/debug/pprof/", ""),
			s.do("GET", "/v1/openapi.json", "", "If-None-Match: *"), s.do("HEAD", "/v1/events", "", "Accept: text/event-stream"),
		} {
			got.wantHeaders(t, "X-Content-Type-Options: nosniff", "Strict-Transport-Security: "+c.strictly)
		}
	}
}

// A client that does not read its responses does not block other clients, whether or not it has an API key.
func TestClientsThatDoNotReadBlockNobody(t *testing.T) {
	const limit = 3
	s := parallelShop(t, withLimit(admission.Requests, limit, 333))
	for i := range 4 * limit {
		s.overPipe(t, "/v1/openapi.json", []string{adminKey, ""}[i%2]).wantStatus(t, "200")
	}
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
}

// Requests beyond the limit are refused, and accepted ones are served. Clients that send slowly block nobody.
func TestExcessRequestsAreRefused(t *testing.T) {
	const limit = 3
	s := parallelShop(t, withLimit(admission.Requests, limit, 333))
	for range 2 * limit { // each of these clients sends only half a body
		fmt.Fprintf(s.dial(t), "POST /v1/pets HTTP/1.1\r\nHost: x\r\n%sContent-Length: 100\r\n\r\n{\"name\":", keyLine)
	}
	entered, release := s.Store.HoldWrites()
	accepted := s.postAll(t, limit, entered, "/v1/pets", `{"name":"Rex","categoryId":1}`)
	s.do("GET", "/v1/pets", "").wantError(t, 503, shop.Unavailable).wantHeaders(t, "Retry-After: 1")
	s.do("GET", "/livez", "").want(t, 200, "")
	s.do("GET", "/metrics", "").want(t, 200, "")
	release()
	accepted.Wait()
	s.do("GET", "/v1/pets", "").want(t, 200, "")
}

// The number of requests that a key can have in progress is limited, whatever these requests are waiting for. Requests
// of other keys are served.
func TestRequestsInProgressAreLimitedPerKey(t *testing.T) {
	s := parallelShop(t, withLimit(admission.Requests, 1024, 1))
	greedy := bearing(s.key(shop.PetsRead, shop.PetsWrite))
	const pet = `{"name":"Rex","categoryId":1}`
	entered, release := s.Store.HoldWrites()
	defer release()
	accepted := s.postAll(t, 1, entered, "/v1/pets", pet, greedy, "Idempotency-Key: a")
	s.do("GET", "/v1/pets", "", greedy).wantError(t, 429, shop.RateLimited).wantHeaders(t, "Retry-After: 1")
	s.do("POST", "/v1/pets", pet, greedy, "Idempotency-Key: a").wantError(t, 429, shop.RateLimited) // refused at once
	s.do("POST", mcpPath, toolCall("count_animals", "{}"), "Accept: */*", greedy).wantError(t, 429, shop.RateLimited)
	s.do("GET", "/v1/openapi.json", "", greedy).want(t, 200, "")
	s.do("GET", "/v1/pets", "").want(t, 200, "")
	release()
	accepted.Wait()
	s.do("POST", "/v1/pets", pet, greedy, "Idempotency-Key: a").want(t, 201, "")
	s.do("GET", "/v1/pets", "", greedy).want(t, 200, "")
}

// An assistant's message that calls a tool, and the request that this tool sends to the API, count as one request in
// progress.
func TestToolCallCountsAsOneRequestInProgress(t *testing.T) {
	s := parallelShop(t, withLimit(admission.Requests, 1024, 1))
	got := s.do("POST", mcpPath, toolCall("count_animals", "{}"), "Accept: */*").want(t, 200, "")
	if !strings.Contains(string(got.body), "0 available") {
		t.Errorf("got %s", got.body)
	}
}

// Only a limited number of requests of one key may wait for their turn. Further requests of this key are refused,
// and requests of other keys are served.
func TestWaitingRequestsAreLimitedPerKey(t *testing.T) {
	s := parallelShop(t)
	greedy := s.key(shop.PetsRead, shop.EventsRead)
	principal := shoptest.Must(s.Authenticate(t.Context(), greedy))(t)
	occupy := func(kind admission.Kind, n int) (slots []admission.Slot) {
		for range n {
			slots = append(slots, shoptest.Must(s.api.Limits.Acquire(t.Context(), kind, principal))(t))
		}
		return slots
	}
	// Without a queue, a message that is being processed counts like one that is waiting.
	messages := admission.ToolCalls.Limit()
	messages.KeyQueue = 0
	s.api.Limits.Replace(admission.ToolCalls, messages)
	for _, c := range []struct {
		kind admission.Kind
		send func(key string) testResponse
	}{
		{admission.EventPages, func(key string) testResponse { return s.do("GET", "/v1/events", "", key) }},
		{admission.ToolCalls, func(key string) testResponse {
			return s.do("POST", mcpPath, toolCall("count_animals", "{}"), "Accept: */*", key)
		}},
	} {
		slots := occupy(c.kind, c.kind.Limit().PerKey)
		c.send(bearing(greedy)).wantError(t, 429, shop.RateLimited).wantHeaders(t, "Retry-After: 1")
		c.send(bearing(adminKey)).want(t, 200, "")
		for i := range slots {
			slots[i].Release()
		}
		c.send(bearing(greedy)).want(t, 200, "")
		occupy(c.kind, c.kind.Limit().PerKey) // requests that have ended do not count
	}
}

func TestReadinessFollowsStoreAndShutdown(t *testing.T) {
	s := parallelShop(t)
	s.do("GET", "/readyz", "").want(t, 200, `{"status":"ok"}`)
	s.Store.FailWith(func(bool) error { return errSecret })
	s.do("GET", "/readyz", "").wantError(t, 503, shop.Unavailable)
	s.do("GET", "/livez", "").want(t, 200, `{"status":"ok"}`)
	s.Store.FailWith(nil)
	s.do("GET", "/readyz", "").want(t, 200, `{"status":"ok"}`)
	s.api.Stopping()
	s.do("GET", "/readyz", "").wantError(t, 503, shop.Unavailable)
	s.do("GET", "/v1/pets", "").want(t, 200, "[]") // a node that is stopping still serves requests
}

// A client that does not read its stream in time learns that the stream is incomplete. Its connection stays open.
func TestSlowStreamOverHTTP2IsReset(t *testing.T) {
	s := parallelShop(t)
	s.runJobs()
	s.overHTTP2(s.api)
	s.skipValidation = true
	s.api.streamTiming.writeTimeout = time.Second
	slow := s.followFrom("0", "?after=0")
	for i := range 4 { // 200 events of 32 KiB each, more than the client's flow-control window
		s.insertEvents(50*i+1, 50, strings.Repeat("x", 32<<10))
	}
	s.waitForStreams(0)
	for {
		if _, err := slow.next(); errors.Is(err, io.EOF) {
			t.Fatal("the stream ended as if it were complete")
		} else if err != nil {
			break // the error tells the client that it must resume
		}
	}
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
}

// A key that does not read its responses, or does not send the rest of its request bodies, can use only a part of the
// memory for bodies. Requests of other keys and small responses are still served.
func TestMemoryForBodiesIsLimitedPerKey(t *testing.T) {
	s := parallelShop(t)
	s.fill(100)
	greedy := s.key(shop.PetsRead, shop.PetsWrite)
	principal, err := s.Authenticate(t.Context(), greedy)
	if err != nil {
		t.Fatal(err)
	}
	// Use up most of the key's memory, as unread responses would.
	most := int64(admission.BodyMemory.Limit().PerKey)
	slot, err := s.api.Limits.HoldBody(principal, most-5000)
	if err != nil {
		t.Fatal(err)
	}
	const page = "/v1/pets?limit=100"
	large := fmt.Sprintf(`{"name":%q}`, strings.Repeat("x", 6000))
	s.do("GET", page, "", bearing(greedy)).wantError(t, 429, shop.RateLimited).wantHeaders(t, "ETag: ", "Link: ", "Retry-After: 1")
	s.do("POST", "/v1/pets", large, bearing(greedy)).wantError(t, 429, shop.RateLimited)
	s.do("GET", "/v1/pets?limit=1", "", bearing(greedy)).want(t, 200, "")
	s.do("GET", page, "").want(t, 200, "")
	// The response to a request that may have changed something is not refused.
	tools := s.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, bearing(greedy), "Accept: application/json, text/event-stream").want(t, 200, "")
	if len(tools.body) <= 5000 {
		t.Errorf("the list of tools has only %d bytes, so this test proves nothing", len(tools.body))
	}
	slot.Release()
	s.do("GET", page, "", bearing(greedy)).want(t, 200, "")
	s.do("POST", "/v1/pets", large, bearing(greedy)).wantError(t, 400, shop.ValidationFailed)
	if _, err := s.api.Limits.HoldBody(principal, most); err != nil {
		t.Errorf("the memory was not released: %v", err)
	}
	if _, err := s.api.Limits.HoldBody(principal, smallest); err == nil {
		t.Error("the memory of a key has no limit")
	}
}

// withLimit returns a change of the configuration that replaces a limit.
func withLimit(kind admission.Kind, total, perKey int) func(*Config) {
	return func(c *Config) {
		if c.Limits == nil {
			c.Limits = web.NewLimits(0)
		}
		limit := kind.Limit()
		limit.Total, limit.PerKey = total, perKey
		c.Limits.Replace(kind, limit)
	}
}

// smallest is the size of the smallest body that counts towards the limit.
const smallest = 4<<10 + 1
