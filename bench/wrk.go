package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// script is the Lua script that generates requests for wrk and prints the result on one line. The threads take turns
// using the elements of parts, so that no element is used twice before all have been used. If the request has a pace,
// there is only one thread, and every request has a scheduled time. A request that is late is still sent.
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
	io.write(string.format("RESULT %%d %%d %%d %%d %%d %%d %%d %%d %%d\n", summary.requests, summary.duration,
		latency:percentile(50), latency:percentile(99), e.connect, e.read, e.write, e.timeout, e.status))
end
`

// sample is the result of one measurement.
type sample struct {
	// Samples of one case with the same turn were measured directly after one another.
	turn      int
	requests  int64
	perSecond float64
	p50, p99  time.Duration
	creates   float64 // concurrent creates per second
	// The processor time per request of the program and of its database server, or 0 if it was not measured.
	cpu, databaseCPU time.Duration
}

// load runs wrk to apply a load to a server. It fails if any response is not 2xx or any connection breaks,
// because the figures would be meaningless.
func load(ctx context.Context, dir, base string, r request, connections int, duration time.Duration) (sample, error) {
	threads := min(connections, 2) // wrk needs at least one connection for each thread
	if r.pace > 0 {
		threads = 1
	}
	before, after := r.raw(strings.TrimPrefix(base, "http://"))
	width := 0
	if len(r.parts) > 0 {
		width = len(r.parts[0])
	}
	text := fmt.Sprintf(script, before, after, strings.Join(r.parts, ""), width, len(r.parts), threads, r.pace)
	path := filepath.Join(dir, fmt.Sprintf("load-%d.lua", r.pace))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return sample{}, err
	}
	seconds := max(1, int(duration.Round(time.Second).Seconds()))
	limit, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+timeout)
	defer cancel()
	cmd := exec.CommandContext(limit, "wrk", "-t", strconv.Itoa(threads), "-c", strconv.Itoa(connections),
		"-d", strconv.Itoa(seconds), "--timeout", "10", "-s", path, base)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return sample{}, fmt.Errorf("wrk: %w\n%s", err, output)
	}
	return parseResult(string(output))
}

func parseResult(output string) (sample, error) {
	_, line, found := strings.Cut(output, "RESULT ")
	var requests, micros, p50, p99, connect, read, write, timeout, status int64
	if _, err := fmt.Sscan(line, &requests, &micros, &p50, &p99, &connect, &read, &write, &timeout, &status); !found || err != nil {
		return sample{}, fmt.Errorf("wrk printed no result:\n%s", output)
	}
	if connect+read+write+timeout+status > 0 {
		return sample{}, fmt.Errorf("of %d requests %d did not succeed, and connections failed: "+
			"%d connecting, %d reading, %d writing, %d timeouts", requests, status, connect, read, write, timeout)
	}
	if requests == 0 {
		return sample{}, fmt.Errorf("no request got a response")
	}
	return sample{
		requests:  requests,
		perSecond: float64(requests) / (float64(micros) / 1e6),
		p50:       time.Duration(p50) * time.Microsecond,
		p99:       time.Duration(p99) * time.Microsecond,
	}, nil
}
