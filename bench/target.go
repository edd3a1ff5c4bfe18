package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"animalstore/internal/programtest"
)

// The names of the subjects in the results table.
const (
	service    = "animalstore"
	bare       = "bare net/http"
	nginx      = "nginx, static file"
	pocketbase = "PocketBase"
	previous   = "animalstore " + programtest.PreviousVersion
)

const serviceKey = "Bearer the-key-of-the-benchmark"

// target is a running subject.
type target interface {
	// load sends requests over the given number of connections for the given duration and measures the
	// responses.
	load(ctx context.Context, connections int, duration time.Duration) (sample, error)
	stop() error
}

// httpTarget is a running program that serves HTTP.
type httpTarget struct {
	process    *process
	database   int // the process id of the database server, or 0 if there is none
	dir        string
	base       string
	request    request
	concurrent request // also sent during the load, unless its pace is 0
	turns      int     // the total number of turns
	turn       int     // the index of the next turn
}

// concurrentConnections is the number of connections for the concurrent creates.
const concurrentConnections = 64

func (t *httpTarget) stop() error { return t.process.stop() }

func (t *httpTarget) load(ctx context.Context, connections int, duration time.Duration) (sample, error) {
	if t.concurrent.pace == 0 {
		return t.measure(ctx, connections, duration)
	}
	var creates sample
	var createsErr error
	var both sync.WaitGroup
	both.Go(func() {
		creates, createsErr = load(ctx, t.dir, t.base, t.concurrent, concurrentConnections, duration+time.Second)
	})
	// The concurrent creates start half a second before the load and end after it.
	time.Sleep(time.Second / 2)
	s, err := t.measure(ctx, connections, duration)
	both.Wait()
	s.creates = creates.perSecond
	return s, errors.Join(err, createsErr)
}

// measure applies the load and also measures the processor time of the program and of its database server.
func (t *httpTarget) measure(ctx context.Context, connections int, duration time.Duration) (sample, error) {
	before, databaseBefore := cpuTime(t.process.cmd.Process.Pid), cpuTime(t.database)
	s, err := load(ctx, t.dir, t.base, t.nextRequest(), connections, duration)
	if err != nil {
		return sample{}, err
	}
	s.cpu = (cpuTime(t.process.cmd.Process.Pid) - before) / time.Duration(s.requests)
	s.databaseCPU = (cpuTime(t.database) - databaseBefore) / time.Duration(s.requests)
	return s, nil
}

// nextRequest returns the request for the next turn. If each request must have values of its own, such as the id of
// an animal to order, no two turns get the same values.
func (t *httpTarget) nextRequest() request {
	r := t.request
	if r.consumesParts {
		share := len(r.parts) / t.turns
		r.parts = r.parts[t.turn*share:][:share]
		t.turn++
	}
	return r
}

// prepare waits until the program responds at the given path, checks one response and warms the program up.
func (t *httpTarget) prepare(ctx context.Context, ready string) error {
	if _, _, err := t.process.waitFor(t.base+ready, t.request.key); err != nil {
		return err
	}
	last := max(0, len(t.request.parts)-1) // check with the last element, which the load is unlikely to reach
	if _, err := t.request.once(t.base, last); err != nil {
		return err
	}
	_, err := t.load(ctx, 64, time.Second)
	return err
}

// engine is a database engine on which the service is measured.
type engine struct {
	prefix   string     // the prefix for the names of the engine's cases
	program  string     // the name of the service's binary
	database func() int // returns the process id of the database server, or 0 if there is none
	// start starts the service on a copy of the store with the given number of animals.
	start func(ctx context.Context, dir string, animals int) (*process, string, error)
	// insert runs the baseline, which imports animals without the service. It returns the time that the
	// import took.
	insert   func(ctx context.Context, dir string, animals int) (time.Duration, error)
	baseline string
	// clear removes databases that were used for earlier measurements and could still cause background work.
	clear func(ctx context.Context) error
}

// sqliteEngine returns the engine for SQLite with the given binary of the service.
func (b *bench) sqliteEngine(program string) engine {
	return engine{program: program, database: func() int { return 0 }, insert: insertAll, baseline: bareInserts,
		start: func(ctx context.Context, dir string, animals int) (*process, string, error) {
			return b.startOnFile(ctx, program, dir, animals)
		},
		clear: func(context.Context) error { return nil }}
}

func (b *bench) startOnFile(ctx context.Context, program, dir string, animals int) (*process, string, error) {
	store, err := b.storeOf(ctx, program, animals)
	if err != nil {
		return nil, "", err
	}
	if err := copyFolder(store, dir); err != nil {
		return nil, "", err
	}
	return b.startOn(ctx, program, dir, filepath.Join(dir, databaseName))
}

// startOn starts a binary of the service with the given database and returns the process and its base URL.
func (b *bench) startOn(ctx context.Context, program, dir, database string) (*process, string, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	p, err := startProcess(ctx, dir, []string{"ANIMALSTORE_API_KEY=" + strings.TrimPrefix(serviceKey, "Bearer ")},
		b.program(program), "serve", "--addr", addr, "--database", database)
	return p, "http://" + addr, err
}

// startBare starts the bare handler with a response recorded from the service. It returns the process and its
// base URL.
func (b *bench) startBare(ctx context.Context, dir string, a recordedResponse, decode string) (*process, string, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, "", err
	}
	file := filepath.Join(dir, "response.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, "", err
	}
	p, err := startProcess(ctx, dir, nil, b.program("bare"), "-addr", addr, "-response", file, "-decode", decode)
	return p, "http://" + addr, err
}

// nginxSettings is an nginx configuration that is tuned for speed: it has no access log, uses sendfile,
// caches file handles and keeps connections open for a long time.
const nginxSettings = `%s
daemon off;
worker_processes %d;
pid %[3]s/nginx.pid;
error_log %[3]s/error.log;
events { worker_connections 1024; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	open_file_cache max=16;
	keepalive_requests 100000000;
	client_body_temp_path %[3]s/t1; proxy_temp_path %[3]s/t2; fastcgi_temp_path %[3]s/t3; uwsgi_temp_path %[3]s/t4; scgi_temp_path %[3]s/t5;
	default_type application/json;
	server {
		listen %[4]s;
		root %[3]s;
		location / {
			try_files /response.json =404;
%[5]s		}
	}
}
`

// startNginx starts nginx, which serves a recorded response. The response's body is a file and its headers
// are part of the configuration.
func (b *bench) startNginx(ctx context.Context, dir string, a recordedResponse) (*process, string, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // nginx must run as root, because other users cannot read the folder that it serves
	}
	var headers strings.Builder
	for name, values := range a.Header {
		switch name {
		case "Content-Type", "Content-Length", "Etag": // nginx adds its own values for these headers
		default:
			fmt.Fprintf(&headers, "\t\t\tadd_header %s '%s';\n", name, strings.ReplaceAll(strings.Join(values, ", "), "'", `\'`))
		}
	}
	settings := fmt.Sprintf(nginxSettings, user, runtime.NumCPU(), dir, addr, headers.String())
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		return nil, "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "response.json"), a.Body, 0o600); err != nil {
		return nil, "", err
	}
	p, err := startProcess(ctx, dir, nil, "nginx", "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", config)
	return p, "http://" + addr, err
}
