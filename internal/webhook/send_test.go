package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"animalstore/internal/shop"
)

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// message returns a claimed delivery that is to be sent to the URL.
func message(url string) shop.Claim {
	return shop.Claim{
		Delivery: shop.Delivery{ID: 1, WebhookID: 1, MessageID: "evt_1", EventType: shop.PetCreated, Body: []byte(`{"specversion":"1.0"}`)},
		URL:      url, Secrets: []string{testSecret},
	}
}

// receiver is a server that counts the messages it receives.
type receiver struct {
	*httptest.Server
	connections *countingListener
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
	if len(addr) > 0 {
		listener, err := net.Listen("tcp", addr[0])
		if err != nil {
			t.Fatal(err)
		}
		r.Listener.Close()
		r.Listener = listener
	}
	r.connections = countConnections(r.Server)
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

func unrestrictedSender(t *testing.T) *sender {
	s := newSender("v1.2.3", nil, nil)
	t.Cleanup(s.close)
	return s
}

func TestSend(t *testing.T) {
	t.Parallel()
	var header http.Header
	var problem error
	server := newReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		body, _ := io.ReadAll(r.Body)
		verifier, _ := standardwebhooks.NewWebhook(testSecret)
		if problem = verifier.Verify(body, r.Header); r.Method != "POST" || r.URL.String() != "/hook?a=b" || problem != nil {
			problem = fmt.Errorf("%s %s: %w", r.Method, r.URL, problem)
		}
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "thanks")
	})
	before := time.Now()
	attempt, after := unrestrictedSender(t).send(t.Context(), message(server.URL+"/hook?a=b"))
	if attempt.Status != 202 || attempt.Response != "thanks" || attempt.Error != "" || after != 0 || problem != nil ||
		attempt.Duration <= 0 || attempt.At.Before(before.Add(-time.Second)) {
		t.Errorf("%+v %v %v", attempt, after, problem)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/cloudevents+json; charset=utf-8", "User-Agent": "animalstore/v1.2.3", "Accept-Encoding": "",
		"Webhook-Id": "evt_1", "Webhook-Timestamp": timestamp(attempt.At),
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// The signature includes the time of sending according to the service's clock. If that clock is wrong, the
// receiver rejects the message. A retry succeeds after the clock is corrected.
func TestMessageIsSignedWithServiceTime(t *testing.T) {
	t.Parallel()
	server := newReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		verifier, _ := standardwebhooks.NewWebhook(testSecret)
		if verifier.Verify(body, r.Header) != nil {
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
		if attempt.Status != step.status || attempt.At.Sub(o.Now()).Abs() > 30*time.Minute || attempt.Duration < 0 || attempt.Duration > 30*time.Minute {
			t.Errorf("%v later: %+v", step.forward, attempt)
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
				if location != "" {
					w.Header().Set("Location", location)
				}
				w.WriteHeader(status)
			})
			attempt, _ := unrestrictedSender(t).send(t.Context(), message(server.URL))
			if _, times := server.received(); attempt.Status != status || times != 1 {
				t.Errorf("%d to %q: %+v, %d requests", status, location, attempt, times)
			}
		}
	}
	if n := inside.connections.accepted(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// The sender ignores proxy settings, because a proxy would bypass the address check.
func TestProxyIsNotUsed(t *testing.T) {
	proxy := newReceiver(t, nil)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	server := newReceiver(t, nil, "127.0.0.3:0") // not 127.0.0.1, for which Go never uses a proxy
	attempt, _ := unrestrictedSender(t).send(t.Context(), message(server.URL))
	if n := proxy.connections.accepted(); n != 0 || attempt.Status != 200 || unrestrictedSender(t).transport.Proxy != nil {
		t.Errorf("%+v, and the proxy got %d connections", attempt, n)
	}
}

// Only the beginning of a long response is read, and it is stored as valid text.
func TestLongResponsesAreTruncated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ part, want string }{
		"plain":          {"a", strings.Repeat("a", 1024)},
		"three bytes":    {"€", strings.Repeat("€", 341)},
		"four bytes":     {"🐢", strings.Repeat("🐢", 256)},
		"five of 1,024":  {"abcd€", strings.Repeat("abcd€", 146) + "ab"},
		"no text":        {"\xff\xfea", strings.Repeat("\uFFFDa", 256)},
		"broken letters": {"\xe2\x82 ", strings.Repeat("\uFFFD ", 256)},
	} {
		attempt := sendInVirtualTime(t, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil { // the response never ends
				if _, err := io.WriteString(w, strings.Repeat(c.part, 1000)); err != nil {
					return
				}
			}
		})
		if attempt.Status != 200 || !utf8.ValidString(attempt.Response) || len(attempt.Response) > 1024 || attempt.Response != c.want {
			t.Errorf("%s: %d, %d bytes %q", name, attempt.Status, len(attempt.Response), attempt.Response)
		}
	}
	attempt := sendInVirtualTime(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Repeat("a", 1023)+"\xe2\x82") // the response ends in the middle of a character
	})
	if len(attempt.Response) > 1024 || !utf8.ValidString(attempt.Response) {
		t.Errorf("%q", attempt.Response)
	}
}

// A slow receiver cannot prolong an attempt beyond the timeout. If the response has begun by then, the part
// received so far counts.
func TestSlowReceiverTimesOut(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	attempt := sendInVirtualTime(t, hang)
	if attempt.Status != 0 || attempt.Error != fmt.Sprint("no response within ", attemptTimeout) || attempt.Duration != attemptTimeout {
		t.Errorf("a receiver that hangs: %+v", attempt)
	}
	attempt = sendInVirtualTime(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "a beginning")
		w.(http.Flusher).Flush()
		hang(w, r)
	})
	if attempt.Status != 200 || attempt.Response != "a beginning" || attempt.Duration != bodyTimeout {
		t.Errorf("a receiver that stalls in the body: %+v", attempt)
	}
}

// sendInVirtualTime sends a message to a receiver on an in-memory network, on which no timeout depends on the
// speed of the machine.
func sendInVirtualTime(t *testing.T, handler http.HandlerFunc) (attempt shop.Attempt) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, listener, server := newSender("v1.2.3", nil, nil), make(pipeListener, 1), &http.Server{Handler: handler}
		s.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			listener <- there
			return here, nil
		}
		go server.Serve(listener)
		attempt, _ = s.send(t.Context(), message("http://receiver.example/"))
		s.close()
		server.Close()
	})
	return attempt
}

// pipeListener is a listener for the connections in a channel.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	if conn, ok := <-l; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l pipeListener) Close() error { close(l); return nil }

// A receiver that switches protocols does not block the attempt. The response body would be the open
// connection, which never ends, so it is not read.
func TestSwitchingProtocolsEndsTheAttempt(t *testing.T) {
	t.Parallel()
	s := unrestrictedSender(t)
	release := make(chan struct{})
	defer close(release)
	silent := newReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
		go func() {
			<-release
			connection.Close()
		}()
	})
	if attempt, _ := s.send(t.Context(), message(silent.URL)); attempt.Status != http.StatusSwitchingProtocols || attempt.Response != "" {
		t.Errorf("%+v", attempt)
	}
}

// Error messages are understandable and reveal nothing about our network.
func TestErrorMessages(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := listener.Addr().String()
	listener.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	trusting := unrestrictedSender(t)
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	trusting.transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	_, port, _ := net.SplitHostPort(secure.Listener.Addr().String())
	closing := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	shouting := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 64<<10)) })
	babbling := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		io.WriteString(conn, "hello\r\n\r\n")
		conn.Close()
	})
	for _, c := range []struct {
		sender    *sender
		url, want string
	}{
		{unrestrictedSender(t), "http://" + nobody, "connection refused"},
		{unrestrictedSender(t), secure.URL, "the certificate is not trusted: it is signed by an unknown authority"},
		{trusting, "https://localhost:" + port, "the certificate is not trusted: it is for a different host name"},
		{unrestrictedSender(t), strings.Replace(closing.URL, "http:", "https:", 1), "the server does not speak TLS"},
		{unrestrictedSender(t), closing.URL, "the connection was closed before a response arrived"},
		{unrestrictedSender(t), shouting.URL, "the response could not be read"},
		{unrestrictedSender(t), babbling.URL, "the response could not be read"},
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
		"": 0, "0": 0, "1": time.Second, "120": 2 * time.Minute, "-1": 0, "1.5": 0, "soon": 0, "4294967295": 365 * 24 * time.Hour, "99999999999999999999": 0,
		"Sun, 15 Nov 2026 12:00:30 GMT": 30 * time.Second, "Sunday, 15-Nov-26 12:01:00 GMT": time.Minute,
		"Sun, 15 Nov 2026 11:00:00 GMT": 0, "Sat, 15 Nov 2036 12:00:00 GMT": 365 * 24 * time.Hour,
	} {
		if got := parseRetryAfter(value, now); got != want {
			t.Errorf("%q is %s, want %s", value, got, want)
		}
	}
	server := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "77")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if attempt, after := unrestrictedSender(t).send(t.Context(), message(server.URL)); attempt.Status != 429 || after != 77*time.Second {
		t.Errorf("%+v, Retry-After %s", attempt, after)
	}
}
