package bench

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

// connections is the number of connections of a load.
const connections = 64

// request describes the requests in a load. If the path, the idempotency key or the body contains the placeholder, each
// request has the next of the parts in its place. All parts have the same length, so that generating the load is cheap.
type request struct {
	method         string
	path           string
	idempotencyKey string
	body           string
	parts          func(turn int) []string
	header         string // header lines that are sent in place of the key, or ""
	connections    int    // 0 for the usual number
	pace           int    // requests per second, evenly spaced, or 0 for as many as possible
}

const placeholder = "{}"

// sample is the result of one turn.
type sample struct {
	perSecond float64
	p99       time.Duration
}

// response is a response of the service.
type response struct {
	status int
	header http.Header
	body   []byte
}

// send sends one request with the admin key.
func (s *subject) send(method, path, body string) (response, error) {
	return s.sendAs("application/json", method, path, body)
}

func (s *subject) sendAs(contentType, method, path, body string) (response, error) {
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	request.Header.Set("Authorization", "Bearer "+programtest.AdminKey)
	request.Header.Set("Content-Type", contentType)
	got, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return response{}, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return response{got.StatusCode, got.Header, text}, err
}

// record returns the response of the service to one request of the load. The part of that request is the last one of
// the turn that is not counted, which the load does not reach.
func (r request) record(t *testing.T, service *subject) response {
	t.Helper()
	part := ""
	if r.parts != nil {
		all := r.parts(0)
		part = all[len(all)-1]
	}
	got, err := service.send(r.method, strings.Replace(r.path, placeholder, part, 1), strings.Replace(r.body, placeholder, part, 1))
	if err != nil || got.status > 299 {
		t.Fatalf("%s %s: got %d %s (error %v)", r.method, r.path, got.status, got.body, err)
	}
	for _, name := range []string{"Date", "Connection"} { // net/http adds its own
		got.header.Del(name)
	}
	return got
}

// raw returns the bytes of the HTTP request before and after the placeholder.
func (r request) raw(host string, width int) (before, after string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n%s", r.method, r.path, host, cmp.Or(r.header, "Authorization: Bearer "+programtest.AdminKey+"\r\n"))
	if r.idempotencyKey != "" {
		fmt.Fprintf(&b, "Idempotency-Key: %s\r\n", r.idempotencyKey)
	}
	if r.body != "" {
		length := len(r.body) + strings.Count(r.body, placeholder)*(width-len(placeholder))
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", length)
	}
	b.WriteString("\r\n" + r.body)
	before, after, _ = strings.Cut(b.String(), placeholder)
	return before, after
}

// script is the Lua script that generates requests for wrk and prints the result on one line. The threads take turns
// using the parts, so that none is used twice before all have been used. If the load has a pace, there is only one
// thread, and every request has a scheduled time.
const script = `
local threads = 0
function setup(thread)
	thread:set("first", threads)
	threads = threads + 1
end
local before, after, parts, width, count, stride = %q, %q, %q, %d, %d, %d
if count == 0 then
	function request() return before end
else
	local sub, at = string.sub, nil
	function request()
		at = at or first
		local part = sub(parts, at * width + 1, at * width + width)
		at = at + stride
		if at >= count then at = first end
		return before .. part .. after
	end
end
local pace = %d
if pace > 0 then
	local ffi = require("ffi")
	ffi.cdef("typedef struct { long seconds, nanoseconds; } moment; int clock_gettime(int clock, moment *now);")
	local now, begun, turn = ffi.new("moment"), nil, 0
	function delay()
		ffi.C.clock_gettime(1, now)
		local ms = tonumber(now.seconds) * 1000 + tonumber(now.nanoseconds) / 1e6
		begun = begun or ms
		turn = turn + 1
		return math.max(0, begun + turn * 1000 / pace - ms)
	end
end
function done(summary, latency)
	local e = summary.errors
	io.write(string.format("RESULT %%d %%d %%d %%d %%d\n", summary.requests, summary.duration, latency:percentile(99),
		e.connect + e.read + e.write + e.timeout, e.status))
end
`

// load applies the load to a subject for a turn.
func (r request) load(_ *testing.T, s *subject, turn int) (sample, error) {
	return r.loadFor(s, turn, turnLength())
}

// loadFor applies the load with wrk. It fails if any response is not 2xx or any connection breaks, because the figures
// would be meaningless.
func (r request) loadFor(s *subject, turn int, duration time.Duration) (sample, error) {
	threads, width, parts := 2, 0, []string(nil)
	if r.pace > 0 {
		threads = 1
	}
	if r.parts != nil {
		parts = r.parts(turn)
		width = len(parts[0])
	}
	before, after := r.raw(strings.TrimPrefix(s.url, "http://"), width)
	path := filepath.Join(s.folder.Dir, fmt.Sprintf("load-%d.lua", r.pace))
	text := fmt.Sprintf(script, before, after, strings.Join(parts, ""), width, len(parts), threads, r.pace)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return sample{}, err
	}
	output, err := exec.Command("wrk", "-t", strconv.Itoa(threads), "-c", strconv.Itoa(cmp.Or(r.connections, connections)),
		"-d", strconv.Itoa(int(duration.Seconds())), "--timeout", "10", "-s", path, s.url).CombinedOutput()
	if err != nil {
		return sample{}, fmt.Errorf("wrk: %w\n%s", err, output)
	}
	_, line, found := strings.Cut(string(output), "RESULT ")
	var requests, micros, p99, broken, refused int64
	if _, err := fmt.Sscan(line, &requests, &micros, &p99, &broken, &refused); !found || err != nil {
		return sample{}, fmt.Errorf("wrk printed no result:\n%s", output)
	}
	if requests == 0 || broken+refused > 0 {
		return sample{}, fmt.Errorf("of %d requests %d did not succeed, and %d connections failed", requests, refused, broken)
	}
	return sample{float64(requests) / (float64(micros) / 1e6), time.Duration(p99) * time.Microsecond}, nil
}
