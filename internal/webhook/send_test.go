package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// message returns a message that is to be sent to the URL.
func message(url string) shop.Message {
	return shop.Message{
		Delivery: shop.Delivery{ID: 1, WebhookID: 1, MessageID: "evt_1", EventType: shop.PetCreated, Body: []byte(`{}`)},
		URL:      url, Secrets: []string{testSecret},
	}
}

// receiver is a server that counts its connections and the messages that it receives.
type receiver struct {
	*httptest.Server
	port        string
	connections atomic.Int32
	mu          sync.Mutex
	got         map[string]int // the number of requests by webhook-id header
}

// newReceiver starts a receiver that calls the handler, or responds with 200 if the handler is nil. It
// listens on addr if given, else on 127.0.0.1.
func newReceiver(t *testing.T, handler http.HandlerFunc, addr ...string) *receiver {
	t.Helper()
	r := &receiver{got: map[string]int{}}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		r.got[request.Header.Get("webhook-id")]++
		r.mu.Unlock()
		if handler != nil {
			handler(w, request)
		}
	}))
	r.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			r.connections.Add(1)
		}
	}
	if len(addr) > 0 {
		r.Listener.Close()
		r.Listener = must(net.Listen("tcp", addr[0]))(t)
	}
	_, r.port, _ = net.SplitHostPort(r.Listener.Addr().String())
	r.Start()
	t.Cleanup(r.Close)
	return r
}

// received returns the number of distinct messages and the total number of requests.
func (r *receiver) received() (messages, times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.got {
		times += n
	}
	return len(r.got), times
}

func (r *receiver) wantNoConnection(t *testing.T) {
	t.Helper()
	if n := r.connections.Load(); n != 0 {
		t.Errorf("there were %d connections, want none", n)
	}
}

func unrestrictedSender(t *testing.T) *sender {
	s := newSender("v1.2.3", nil, nil)
	t.Cleanup(s.close)
	return s
}

// isVerified reports whether the official library accepts a message.
func isVerified(secret string, body []byte, header http.Header) bool {
	verifier, err := standardwebhooks.NewWebhook(secret)
	return err == nil && verifier.Verify(body, header) == nil
}

func TestSend(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	server := newReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, name := range []string{"Content-Type", "User-Agent", "Accept-Encoding", "Webhook-Id", "Webhook-Timestamp"} {
			got[name] = r.Header.Get(name)
		}
		got["request"] = fmt.Sprint(r.Method, " ", r.URL, " ", isVerified(testSecret, body, r.Header))
		w.Header().Set("Retry-After", "77")
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "thanks")
	})
	before := time.Now()
	attempt, after := unrestrictedSender(t).send(t.Context(), message(server.URL+"/hook?a=b"))
	if attempt.Status != 202 || attempt.Response != "thanks" || attempt.Error != "" || after != 77*time.Second ||
		attempt.Duration <= 0 || attempt.At.Before(before.Add(-time.Second)) {
		t.Errorf("%+v %v", attempt, after)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/cloudevents+json; charset=utf-8", "User-Agent": "animalstore/v1.2.3", "Accept-Encoding": "",
		"Webhook-Id": "evt_1", "Webhook-Timestamp": timestamp(attempt.At), "request": "POST /hook?a=b true",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// The signature includes the time of sending according to the service's clock. If that clock is wrong, the
// receiver rejects the message. A retry succeeds after the clock is corrected.
func TestMessageIsSignedWithServiceTime(t *testing.T) {
	t.Parallel()
	server := newReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); !isVerified(testSecret, body, r.Header) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	o := newFixture(t)
	s := New(Config{Service: o.Service, AllowPrivate: true}).sender
	defer s.close()
	for _, step := range []struct {
		forward time.Duration
		status  int
	}{{-time.Hour, 401}, {time.Hour, 200}, {24 * time.Hour, 401}, {-24 * time.Hour, 200}} {
		o.Clock.Forward(step.forward)
		attempt, _ := s.send(t.Context(), message(server.URL))
		skew := attempt.At.Sub(o.Now()).Abs()
		if attempt.Status != step.status || skew > 30*time.Minute || attempt.Duration < 0 || attempt.Duration > 30*time.Minute {
			t.Errorf("%v later: %+v", step.forward, attempt)
		}
	}
}

// The official library accepts our signatures for every secret that was used and rejects them for any other
// secret.
func TestOfficialLibraryVerifiesSignatures(t *testing.T) {
	t.Parallel()
	const second, other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	now := time.Now()
	claim := message("https://example.com/")
	claim.Body = []byte(`{"name":"Žofka 🐢"}`)
	for _, secrets := range [][]string{{testSecret}, {second}, {testSecret, second}} {
		claim.Secrets = secrets
		signature := must(sign(claim, now))(t)
		header := http.Header{"Webhook-Id": {claim.MessageID}, "Webhook-Timestamp": {timestamp(now)}, "Webhook-Signature": {signature}}
		for _, secret := range []string{testSecret, second, other} {
			if signed := slices.Contains(secrets, secret); isVerified(secret, claim.Body, header) != signed {
				t.Errorf("signed with %q, verified with %s: %v", secrets, secret, !signed)
			}
			if isVerified(secret, []byte(`{"name":"Rex"}`), header) {
				t.Error("a different body is accepted")
			}
		}
	}
	// This is the example from the specification.
	claim.MessageID, claim.Body, claim.Secrets = "msg_p5jXN8AQM9LWM0D4loKWxJek", []byte(`{"test": 2432232314}`), []string{testSecret}
	if signature, err := sign(claim, time.Unix(1614265330, 0)); signature != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("%q %v", signature, err)
	}
	for _, secrets := range [][]string{nil, {"whsec_?"}} {
		claim.Secrets = secrets
		if signature, err := sign(claim, now); err == nil {
			t.Errorf("with %q: %s", secrets, signature)
		}
	}
}

// A redirect is recorded like any other response but not followed.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	inside := newReceiver(t, nil)
	for _, location := range []string{inside.URL, "", "http://%zz/", "/elsewhere"} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			server := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Location"] = strings.Fields(location)
				w.WriteHeader(status)
			})
			attempt, _ := unrestrictedSender(t).send(t.Context(), message(server.URL))
			if server.wantMessages(t, 1); attempt.Status != status {
				t.Errorf("%d to %q: %+v", status, location, attempt)
			}
		}
	}
	inside.wantNoConnection(t)
}

// The sender ignores proxy settings, because a proxy would bypass the address check.
func TestProxyIsNotUsed(t *testing.T) {
	proxy := newReceiver(t, nil)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	server := newReceiver(t, nil, "127.0.0.3:0") // not 127.0.0.1, for which Go never uses a proxy
	attempt, _ := unrestrictedSender(t).send(t.Context(), message(server.URL))
	if attempt.Status != 200 || unrestrictedSender(t).transport.Proxy != nil {
		t.Errorf("%+v", attempt)
	}
	proxy.wantNoConnection(t)
}

// sendInVirtualTime sends a message to a receiver on an in-memory network. In virtual time, no timeout depends on the
// speed of the machine.
func sendInVirtualTime(t *testing.T, handler http.HandlerFunc) (attempt shop.Attempt) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSender("v1.2.3", nil, nil)
		s.transport.DialContext = shoptest.ServeInMemory(t, handler)
		attempt, _ = s.send(t.Context(), message("http://receiver.example/"))
		s.close()
	})
	return attempt
}

// Only the beginning of a long response is read, and it is stored as valid text.
func TestLongResponsesAreTruncated(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]string{
		"a":         strings.Repeat("a", 1024),
		"€":         strings.Repeat("€", 341),
		"abcd€":     strings.Repeat("abcd€", 146) + "ab",
		"\xff\xfea": strings.Repeat("\uFFFDa", 256), // bytes that are not UTF-8
		"\xe2\x82 ": strings.Repeat("\uFFFD ", 256), // an incomplete character
	} {
		attempt := sendInVirtualTime(t, func(w http.ResponseWriter, r *http.Request) {
			for err := error(nil); err == nil && r.Context().Err() == nil; { // the response never ends
				_, err = io.WriteString(w, strings.Repeat(part, 1000))
			}
		})
		if attempt.Status != 200 || attempt.Response != want {
			t.Errorf("%q: %d, %d bytes %q", part, attempt.Status, len(attempt.Response), attempt.Response)
		}
	}
}

// A slow receiver cannot prolong an attempt beyond the timeout. If the response has begun by then, the part received so
// far is recorded as the response. If the receiver switches protocols, the body is the open connection, which never
// ends, so the body is not read.
func TestSlowReceiverTimesOut(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    shop.Attempt
	}{
		{"hangs", hang, shop.Attempt{Error: fmt.Sprint("no response within ", attemptTimeout), Duration: attemptTimeout}},
		{"stalls in the body", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "a beginning")
			w.(http.Flusher).Flush()
			hang(w, r)
		}, shop.Attempt{Status: 200, Response: "a beginning", Duration: bodyTimeout}},
		{"switches protocols", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
			io.Copy(io.Discard, conn) // waits until the sender closes the connection
			conn.Close()
		}, shop.Attempt{Status: 101}},
	} {
		got := sendInVirtualTime(t, c.handler)
		c.want.At = got.At
		if got != c.want {
			t.Errorf("a receiver that %s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Error messages are understandable and reveal nothing about our network.
func TestErrorMessages(t *testing.T) {
	t.Parallel()
	nobody := newReceiver(t, nil)
	nobody.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	trusting := unrestrictedSender(t)
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	trusting.transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	localhost := strings.Replace(secure.URL, "127.0.0.1", "localhost", 1)
	nowhere := newSender("v1", nil, new(dnsServer).resolver())
	closing := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	shouting := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 64<<10)) })
	for _, c := range []struct {
		sender    *sender
		url, want string
	}{
		{unrestrictedSender(t), nobody.URL, "connection refused"},
		{unrestrictedSender(t), secure.URL, "the certificate is not trusted: it is signed by an unknown authority"},
		{trusting, localhost, "the certificate is not trusted: it is for a different host name"},
		{unrestrictedSender(t), strings.Replace(closing.URL, "http:", "https:", 1), "the server does not speak TLS"},
		{unrestrictedSender(t), closing.URL, "the connection was closed before a response arrived"},
		{unrestrictedSender(t), shouting.URL, "the response could not be read"},
		{nowhere, "http://nobody.example.com/", "the host name nobody.example.com has no address"},
	} {
		if attempt, _ := c.sender.send(t.Context(), message(c.url)); attempt.Status != 0 || attempt.Error != c.want {
			t.Errorf("%s: %+v, want %s", c.url, attempt, c.want)
		}
	}
	if attempt, _ := trusting.send(t.Context(), message(secure.URL)); attempt.Status != 404 {
		t.Errorf("with a trusted certificate: %+v", attempt)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, "-1": 0, "soon": 0, "4294967295": 365 * 24 * time.Hour, "99999999999999999999": 0,
		"Sun, 15 Nov 2026 12:00:30 GMT": 30 * time.Second, "Sunday, 15-Nov-26 12:01:00 GMT": time.Minute,
		"Sun, 15 Nov 2026 11:00:00 GMT": 0, "Sat, 15 Nov 2036 12:00:00 GMT": 365 * 24 * time.Hour,
	} {
		if got := parseRetryAfter(value, now); got != want {
			t.Errorf("%q is %s, want %s", value, got, want)
		}
	}
}
