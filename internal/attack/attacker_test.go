package attack

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// attackerVariable is the environment variable that makes the test program attack a service. Its value is a
// target, encoded as JSON.
const attackerVariable = "ANIMALSTORE_ATTACKER"

// target tells the attacker's process what to attack, and how.
type target struct {
	Attack   string // the name of the attack
	Address  string
	TLS      bool
	Key      string // an API key with all permissions
	Cookie   string // a session of the staff pages that was opened with the key
	Duration time.Duration
	Animals  int
}

// result is what an attacker counted.
type result struct {
	Sent     int           // requests, including those that were not sent completely
	Statuses map[int]int   // the number of responses with each status; many attacks do not wait for responses
	Failed   int           // requests that got no response, and connections that were refused
	Took     time.Duration // the duration of the attack
}

func (r result) String() string {
	parts := []string{fmt.Sprintf("%d in %.0f s", r.Sent, r.Took.Seconds())}
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		parts = append(parts, fmt.Sprintf("%d×%d", r.Statuses[status], status))
	}
	if r.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", r.Failed))
	}
	return strings.Join(parts, ", ")
}

// launchAttacker attacks the service from another process and waits until the attack ends. The process has a
// low priority, so that it takes no processor time from the service and the shop. A real attacker would have a
// machine of its own.
func launchAttacker(t *testing.T, to target) (r result) {
	t.Helper()
	text, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), to.Duration+time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "nice", "-n", "10", self)
	command.Env = append(os.Environ(), attackerVariable+"="+string(text))
	command.Stderr = os.Stderr
	began := time.Now()
	output, err := command.Output()
	if err == nil {
		err = json.Unmarshal(output, &r)
	}
	if err != nil {
		t.Fatalf("the attacker failed: %v", err)
	}
	r.Took = time.Since(began)
	return r
}

// runAttacker is the main function of the attacker's process. When it returns, the process exits and all of
// its connections are closed.
func runAttacker(text string) {
	a := &attacker{result: result{Statuses: map[int]int{}}}
	if err := cmp.Or(json.Unmarshal([]byte(text), &a.target), loopbackOnly(a.Address)); err != nil {
		panic(err)
	}
	var cancel context.CancelFunc
	a.ctx, cancel = context.WithTimeout(context.Background(), a.Duration)
	defer cancel()
	a.client = &http.Client{CheckRedirect: noRedirect, Transport: &http.Transport{
		MaxIdleConnsPerHost: 1000, DisableCompression: true, ForceAttemptHTTP2: a.TLS, TLSClientConfig: a.tlsConfig("h2", "http/1.1")}}
	ended := make(chan struct{})
	for _, one := range attacks() {
		if one.name == a.Attack {
			go func() {
				one.send(a)
				close(ended)
			}()
		}
	}
	<-a.ctx.Done()
	select {
	case <-ended:
	case <-time.After(time.Second): // requests that are still stuck end when the process exits
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(a.result); err != nil {
		panic(err)
	}
}

// attacker attacks a service. It counts what it sends and what comes back.
type attacker struct {
	target
	ctx    context.Context // canceled when the attack ends
	client *http.Client    // sends complete requests
	mu     sync.Mutex
	result
}

// tlsConfig returns a configuration that accepts every certificate, because an attacker does not care which one
// it gets.
func (a *attacker) tlsConfig(protocols ...string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}
}

func (a *attacker) sent() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Sent++
}

func (a *attacker) received(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Statuses[status]++
}

// failed counts a failure and waits, so that a service that refuses everything is not flooded by retries.
func (a *attacker) failed() {
	if a.ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	a.Failed++
	a.mu.Unlock()
	a.sleep(100 * time.Millisecond)
}

func (a *attacker) sleep(d time.Duration) {
	select {
	case <-a.ctx.Done():
	case <-time.After(d):
	}
}

// repeat starts the given number of workers, which call do again and again until the attack ends. All workers
// together call it at most perSecond times per second, or without a limit if perSecond is 0.
func (a *attacker) repeat(workers, perSecond int, do func()) {
	limiter := rate.NewLimiter(rate.Inf, 0)
	if perSecond > 0 {
		limiter = rate.NewLimiter(rate.Limit(perSecond), 1)
	}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for limiter.Wait(a.ctx) == nil {
				do()
			}
		})
	}
	running.Wait()
}

// request sends a complete request and reads the response to its end. Each header field has the form
// "Name: value".
func (a *attacker) request(method, path, body string, fields ...string) (status int) {
	a.sent()
	response, err := a.client.Do(a.newRequest(a.ctx, method, path, body, fields...))
	if err != nil {
		a.failed()
		return 0
	}
	defer response.Body.Close()
	a.received(response.StatusCode)
	io.Copy(io.Discard, response.Body) // an error is fine, because the service may end a response early
	return response.StatusCode
}

func (a *attacker) newRequest(ctx context.Context, method, path, body string, fields ...string) *http.Request {
	scheme := "http://"
	if a.TLS {
		scheme = "https://"
	}
	request, err := http.NewRequestWithContext(ctx, method, scheme+a.Address+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		if name == "Host" {
			request.Host = value
		}
		request.Header.Set(name, value)
	}
	return request
}

func (a *attacker) authorization() string { return "Authorization: Bearer " + a.Key }
func (a *attacker) session() string       { return "Cookie: " + a.Cookie }

// dial opens a connection that is closed when the attack ends. It returns nil if the service does not accept
// the connection.
func (a *attacker) dial() net.Conn {
	var d net.Dialer
	conn, err := d.DialContext(a.ctx, "tcp", a.Address)
	if err != nil {
		a.failed()
		return nil
	}
	context.AfterFunc(a.ctx, func() { conn.Close() })
	return conn
}

// sendPart opens a connection and sends a part of a request. It returns nil if that fails.
func (a *attacker) sendPart(text string) net.Conn {
	conn := a.dial()
	if conn == nil {
		return nil
	}
	a.sent()
	if _, err := io.WriteString(conn, text); err != nil {
		conn.Close()
		a.failed()
		return nil
	}
	return conn
}

// head returns the first line of a request and its header fields.
func head(method, path string, fields ...string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(append(fields, ""), "\r\n") + "\r\n"
}

// withoutReading sends a request on a new connection and keeps the connection open for half of the attack
// without reading the response.
func (a *attacker) withoutReading(text string) {
	if conn := a.sendUnread(text); conn != nil {
		a.sleep(a.Duration / 2)
		conn.Close()
	}
}

// neverReading sends a request again and again on the same connection without reading the responses, until the
// service closes the connection.
func (a *attacker) neverReading(text string) {
	conn := a.sendUnread(text)
	if conn == nil {
		return
	}
	defer conn.Close()
	for a.ctx.Err() == nil {
		a.sleep(100 * time.Millisecond)
		a.sent()
		if _, err := io.WriteString(conn, text); err != nil {
			a.failed()
			return
		}
	}
}

// stayBusy sends a request again and again on the same connection and reads the responses, until the service
// closes the connection.
func (a *attacker) stayBusy(conn net.Conn, text string) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for a.ctx.Err() == nil {
		a.sent()
		io.WriteString(conn, text) // if this fails, reading the response fails, too
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			a.failed()
			return
		}
		a.received(response.StatusCode)
		io.Copy(io.Discard, response.Body) // an error is fine, because the service may end a response early
		if response.Body.Close(); response.Close {
			return
		}
		a.sleep(busyPause)
	}
}

// sendUnread opens a connection and sends a request. The connection has a small receive buffer, so that most of the
// response must stay in the service's buffers.
func (a *attacker) sendUnread(text string) net.Conn {
	conn := a.sendPart(text)
	if conn != nil {
		conn.(*net.TCPConn).SetReadBuffer(4096)
	}
	return conn
}

// untilClosed reads a response from a connection until the response is complete, the service closes the
// connection, or the attack ends. Meanwhile, it sends the text one byte at a time, one byte per interval.
func (a *attacker) untilClosed(conn net.Conn, interval time.Duration, text string) {
	defer conn.Close()
	go func() {
		for i := range text {
			a.sleep(interval)
			if _, err := io.WriteString(conn, text[i:i+1]); err != nil {
				return
			}
		}
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		a.failed()
		return
	}
	a.received(response.StatusCode)
	io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		a.sleep(time.Second)
	}
}
