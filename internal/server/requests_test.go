package server

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"animalstore/internal/programtest"
)

// startServer runs a server until the test ends. /livez is its only probe, and refused requests get 503.
func startServer(t *testing.T, config Config, serve http.HandlerFunc) (s *Server, addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config.Log = slog.New(slog.DiscardHandler)
	s = New(config)
	running, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		s.Run(running, listener, Handlers{
			Serve: serve, Refuse: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
			Malformed: func(w http.ResponseWriter, _ *http.Request, refusal *http.Response) {
				w.WriteHeader(refusal.StatusCode)
			},
			IsProbe: func(r *http.Request) bool { return r.URL.Path == "/livez" }, Drain: func() {},
		})
	})
	t.Cleanup(func() { cancel(); serving.Wait() })
	return s, listener.Addr().String()
}

// droppedConns returns how many connections were dropped for the given reason.
func (s *Server) droppedConns(reason string) (n float64) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.listener.dropped)
	families, _ := registry.Gather()
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if metric.GetLabel()[0].GetValue() == reason {
				n = metric.GetCounter().GetValue()
			}
		}
	}
	return n
}

// madeRoom reports whether a connection was dropped because its client had stalled, or was closed after a
// response.
func (s *Server) madeRoom() bool {
	return s.droppedConns(reasonStalled)+s.droppedConns(reasonRotated) > 0
}

// The connections of clients that do not read their responses, or do not send the rest of their requests, are
// closed to make room for others. A connection whose request is still being handled is not closed.
func TestStalledClientsMakeRoom(t *testing.T) {
	t.Parallel()
	large := make([]byte, 16<<20) // more than the kernel's buffers hold
	for name, request := range map[string]string{
		"one response is not read":    "GET /large HTTP/1.1\r\nHost: x\r\n\r\n",
		"many responses are not read": strings.Repeat("GET /small HTTP/1.1\r\nHost: x\r\n\r\n", 4096),
		"half a body is sent":         "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const limit = 10
			s, addr := startServer(t, Config{MaxConnections: limit}, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/large":
					w.Write(large)
				case "/small":
					w.Write(large[:2048])
				case "/body":
					io.ReadAll(r.Body)
				case "/working": // runs for a long time, but does not wait for the client
					io.WriteString(w, "begun")
					http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}
			})
			get := func(path string) *http.Response {
				t.Helper()
				var response *http.Response
				programtest.Await(t, "a response", func() (ok bool) {
					var err error
					response, err = (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + addr + path)
					return err == nil
				})
				t.Cleanup(func() { response.Body.Close() })
				return response
			}
			working := get("/working")
			for range 2 * limit {
				conn, err := net.Dial("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				conn.(*net.TCPConn).SetReadBuffer(2 << 10)
				go io.WriteString(conn, request)
			}
			programtest.Await(t, "the stalled connections", func() bool {
				s.listener.mu.Lock()
				defer s.listener.mu.Unlock()
				stalled := 0
				for c := range s.listener.open {
					if c.isStalled() {
						stalled++
					}
				}
				return stalled >= limit-1 || s.madeRoom()
			})
			for range limit {
				get("/livez")
			}
			if !s.madeRoom() {
				t.Error("no stalled connection was closed")
			}
			if n, err := working.Body.Read(make([]byte, 10)); n != len("begun") {
				t.Errorf("the connection that made progress: got %d bytes, %v", n, err)
			}
		})
	}
}

// Over HTTP/2, the requests beyond the first on each connection share a limit, whether their handlers are
// working or are waiting for clients that do not read. Probes are served even beyond this limit.
func TestRequestsOverHTTP2AreLimited(t *testing.T) {
	t.Parallel()
	large := make([]byte, 64<<10)
	for _, kind := range []string{"work", "stall"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newReloading(t, overwriteFiles)
			var running, most atomic.Int64
			release := make(chan struct{})
			s, addr := startServer(t, Config{MaxConnections: 100, Certificate: r.Certificate}, func(w http.ResponseWriter, r *http.Request) {
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
				}
				defer running.Add(-1)
				switch r.URL.Path {
				case "/work":
					select {
					case <-release:
					case <-r.Context().Done():
					}
				case "/stall":
					w.Write(large)
				}
			})
			newClient := func() *http.Client {
				transport := r.authority.Transport()
				transport.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 1 << 10}
				t.Cleanup(transport.CloseIdleConnections)
				return &http.Client{Transport: transport}
			}
			get := func(client *http.Client, path string) (int, error) {
				response, err := client.Get("https://" + addr + path)
				if err != nil {
					return 0, err
				}
				defer response.Body.Close()
				return response.StatusCode, nil
			}
			const conns = 12
			var clients sync.WaitGroup
			var refused, ended atomic.Int64
			ctx, cancel := context.WithCancel(t.Context())
			for range conns {
				client := newClient()
				// Without a first request, the client would open a connection for each of the others.
				if status, err := get(client, "/"); status != http.StatusOK {
					t.Fatalf("the first request of a client returned %d (error %v), want 200", status, err)
				}
				for range maxStreamsPerConn {
					clients.Go(func() {
						defer ended.Add(1)
						request, _ := http.NewRequestWithContext(ctx, "GET", "https://"+addr+"/"+kind, nil)
						response, err := client.Do(request)
						if err != nil {
							return // the connection was closed
						}
						defer response.Body.Close()
						if response.StatusCode == http.StatusServiceUnavailable {
							refused.Add(1)
							return
						}
						<-ctx.Done() // the client reads nothing
					})
				}
			}
			probe := newClient()
			if kind == "work" {
				programtest.Await(t, "all requests to be served or refused", func() bool {
					return running.Load()+ended.Load() == conns*maxStreamsPerConn
				})
				if limit := int64(maxExtraRequests + conns*fewRequests); most.Load() > limit || refused.Load() == 0 {
					t.Errorf("%d requests were in progress, %d were refused; want at most %d", most.Load(), refused.Load(), limit)
				}
				before := running.Load()
				clients.Go(func() { get(probe, "/work") })
				programtest.Await(t, "a client with one request to be served", func() bool { return running.Load() == before+1 })
				if status, err := get(probe, "/"); status != http.StatusOK {
					t.Errorf("the second request of a client returned %d (error %v), want 200", status, err)
				}
				close(release)
			} else {
				programtest.Await(t, "stalled connections to be closed", func() bool {
					newClient().Get("https://" + addr + "/livez")
					return s.droppedConns(reasonStalled) > 0
				})
			}
			if status, err := get(probe, "/livez"); status != http.StatusOK {
				t.Errorf("/livez: got %d, %v", status, err)
			}
			cancel()
			clients.Wait()
			programtest.Await(t, "all requests to end", func() bool { return s.listener.extra.Load() == 0 })
		})
	}
}

// Clients that go on using an old connection keep it, even while others open many connections for one request each.
func TestLongestUnusedConnectionIsDroppedFirst(t *testing.T) {
	t.Parallel()
	now := time.Now()
	conn := func(accepted, used time.Duration) *limitedConn {
		c := &limitedConn{accepted: now.Add(-accepted)}
		c.served.Store(true)
		c.requests.progress.Store(now.Add(-used).UnixNano())
		return c
	}
	inUse, unused := conn(time.Hour, 0), conn(time.Minute, time.Minute)
	l := newLimitListener(2)
	if l.dropsBefore(inUse, unused) || !l.dropsBefore(unused, inUse) {
		t.Error("a connection that was just used is dropped before one that was not used for a minute")
	}
}

// A client counts as making progress only after it has sent progressStep bytes of a body, not after every byte.
func TestProgressNeedsBytes(t *testing.T) {
	t.Parallel()
	requests := &connRequests{}
	body := trackedBody{&trackedRequest{body: io.NopCloser(endless{}), conn: requests}}
	for range progressStep - 1 {
		body.Read(make([]byte, 1))
	}
	if requests.progress.Load() != 0 {
		t.Error("a few bytes count as progress")
	}
	body.Read(make([]byte, 1))
	if time.Since(time.Unix(0, requests.progress.Load())) > time.Hour {
		t.Errorf("%d bytes do not count as progress", progressStep)
	}
}

// endless is a body that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
