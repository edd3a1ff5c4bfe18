package httpapi

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"animalstore/internal/shop"
)

var (
	policyForm = regexp.MustCompile(`^"default";q=2;w=2$`)
	limitForm  = regexp.MustCompile(`^"default";r=([0-9]+);t=([0-9]+)$`)
)

// newLimitedShop makes a shop with a limit whose time stands still until it is set forward.
func newLimitedShop(t *testing.T, rate int) (s *openShop, forward func(time.Duration)) {
	t.Helper()
	s = newShop(t, func(c *Config) { c.RateLimit = rate })
	start := time.Now()
	var passed atomic.Int64
	s.api.limits.now = func() time.Time { return start.Add(time.Duration(passed.Load())) }
	return s, func(d time.Duration) { passed.Add(int64(d)) }
}

// Every operation that needs a key is limited, each key for itself, and says how much is left.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	s, _ := newLimitedShop(t, 1)
	for _, r := range everyRequest() {
		key := s.key(shop.Admin)
		limited := false
		for range 3 { // one more than the burst
			got := s.ask(r.method, r.path, r.body, bearing(key))
			left := limitForm.FindStringSubmatch(got.Header.Get("RateLimit"))
			if !policyForm.MatchString(got.Header.Get("RateLimit-Policy")) || left == nil {
				t.Fatalf("%s: %v", r.operation, got.Header)
			}
			if got.StatusCode == 429 {
				got.wantError(t, 429, shop.RateLimited)
				if after, err := strconv.Atoi(got.Header.Get("Retry-After")); err != nil || after < 1 || left[1] != "0" {
					t.Errorf("%s: Retry-After is %q, and %s are left", r.operation, got.Header.Get("Retry-After"), left[1])
				}
				limited = true
				break
			}
		}
		if !limited {
			t.Errorf("%s has no limit", r.operation)
		}
	}
	spent := s.key(shop.Admin)
	for range 2 {
		s.ask("GET", "/v1/nothing", "", bearing(spent)).wantError(t, 404, shop.NotFound) // also what is nothing counts
	}
	s.ask("GET", "/v1/nothing", "", bearing(spent)).wantError(t, 429, shop.RateLimited)
	s.ask("GET", "/v1/keys/current", "", bearing(s.key(shop.Admin))).want(t, 200, "")
	s.ask("GET", "/livez", "").want(t, 200, "")
}

// The burst is twice the rate, as the policy says. What is used up comes back at the rate, and not beyond the burst.
func TestBurst(t *testing.T) {
	t.Parallel()
	const rate = 100
	s, forward := newLimitedShop(t, rate)
	s.trusted = true
	for _, c := range []struct {
		passed time.Duration
		want   int
	}{{0, 2 * rate}, {0, 0}, {time.Second, rate}, {time.Hour, 2 * rate}} {
		forward(c.passed)
		served := 0
		for ; served <= 2*rate; served++ {
			got := s.ask("GET", "/v1/keys/current", "")
			if got.StatusCode == 429 {
				break
			}
			if left := fmt.Sprintf(`"default";r=%d;`, c.want-served-1); !strings.HasPrefix(got.Header.Get("RateLimit"), left) {
				t.Errorf("after %d requests: %s, want %s", served+1, got.Header.Get("RateLimit"), left)
			}
		}
		if served != c.want {
			t.Errorf("%v later %d requests were served, want %d", c.passed, served, c.want)
		}
	}
}

// What comes back does so as time passes, whatever is done to the clock on the wall: put back, that would hold everybody up until the
// old time comes again.
func TestLimitsMindNoClock(t *testing.T) {
	t.Parallel()
	if now := newLimits(1).now(); now == now.Round(0) {
		t.Errorf("%v is a time of the wall alone", now)
	}
}

// A client that does not read its answers takes nobody's place, with a key or without.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	const places = 3
	s := newShop(t, func(c *Config) { c.MaxInFlight = places })
	for range 4 * places {
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		connection.(*net.TCPConn).SetReadBuffer(4 << 10)
		go func() { // as many as it takes: some are refused while the others compete
			for err := error(nil); err == nil; {
				_, err = io.WriteString(connection, "GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
			}
		}()
	}
	stuck := func() int { // how many requests are being answered, this one not counted
		body := string(s.ask("GET", "/metrics", "").body)
		_, rest, _ := strings.Cut(body, "\nanimalstore_http_requests_in_flight ")
		var n int
		fmt.Sscan(rest, &n)
		return n - 1
	}
	// Between two answers of a connection the number dips, and one that is stuck in the last bytes of an answer is not
	// counted: wait until more are stuck, and stay so, than there are places.
	for end, same := time.Now().Add(time.Minute), 0; same < 20; {
		if n := stuck(); n > places {
			same++
		} else if same = 0; time.Now().After(end) {
			t.Fatalf("only %d clients are stuck", n)
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.ask("GET", "/v1/pets", "").want(t, 200, "[]")
}

func TestNoRateLimit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	got := s.ask("GET", "/v1/pets", "")
	if got.Header.Get("RateLimit") != "" || got.Header.Get("RateLimit-Policy") != "" {
		t.Errorf("without a limit: %v", got.Header)
	}
}

// What is too much at once is refused at once, while what was accepted is served; and a sender that is slow with its body
// takes nobody's place.
func TestTooManyAtOnce(t *testing.T) {
	t.Parallel()
	const places = 3
	s := newShop(t, func(c *Config) { c.MaxInFlight = places })
	for range 2 * places { // half a body each
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		fmt.Fprintf(connection, "POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{\"name\":", adminKey)
	}
	entered, release := s.store.holdWrites()
	var wg sync.WaitGroup
	for range places {
		wg.Go(func() {
			if got, err := s.try("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`); err != nil || got.StatusCode != 201 {
				t.Errorf("accepted, and then: %v %s", err, got.body)
			}
		})
		<-entered
	}
	got := s.ask("GET", "/v1/pets", "")
	got.wantError(t, 503, shop.Unavailable)
	if got.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", got.Header.Get("Retry-After"))
	}
	s.ask("GET", "/livez", "").want(t, 200, "")
	s.ask("GET", "/metrics", "").want(t, 200, "")
	release()
	wg.Wait()
	s.ask("GET", "/v1/pets", "").want(t, 200, "")
}
