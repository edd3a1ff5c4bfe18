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
)

// The names of the subjects in the table.
const (
	service    = "animalstore"
	bare       = "bare net/http"
	nginx      = "nginx, static file"
	pocketbase = "PocketBase"
	pgxLoop    = "plain pgx loop"
)

const serviceKey = "Bearer the-key-of-the-benchmark"

// target is a running subject.
type target interface {
	// load applies the load over connections for a duration.
	load(ctx context.Context, connections int, duration time.Duration) (sample, error)
	// stop stops the subject.
	stop() error
}

// httpTarget is a program that serves HTTP.
type httpTarget struct {
	process    *process
	dir        string
	base       string
	request    request
	concurrent request // runs during the load, if it has a pace
	turns      int     // the total number
	turn       int     // the next one
}

// concurrentConnections is the number of connections of the concurrent creates.
const concurrentConnections = 64

func (t *httpTarget) stop() error { return t.process.stop() }

func (t *httpTarget) load(ctx context.Context, connections int, duration time.Duration) (sample, error) {
	if t.concurrent.pace == 0 {
		return load(ctx, t.dir, t.base, t.nextRequest(), connections, duration)
	}
	var creates sample
	var createsErr error
	var both sync.WaitGroup
	both.Go(func() {
		creates, createsErr = load(ctx, t.dir, t.base, t.concurrent, concurrentConnections, duration+time.Second)
	})
	time.Sleep(time.Second / 2) // it starts before the load and ends after it
	s, err := load(ctx, t.dir, t.base, t.nextRequest(), connections, duration)
	both.Wait()
	s.creates = creates.perSecond
	return s, errors.Join(err, createsErr)
}

// nextRequest returns the request of the next turn. If parts can be used only once, each turn gets its share.
func (t *httpTarget) nextRequest() request {
	r := t.request
	if r.consumesParts {
		share := len(r.parts) / t.turns
		r.parts = r.parts[t.turn*share:][:share]
		t.turn++
	}
	return r
}

// prepare waits for the program, checks its response, and warms it up.
func (t *httpTarget) prepare(ctx context.Context, ready string) error {
	if _, _, err := t.process.waitFor(t.base+ready, t.request.key); err != nil {
		return err
	}
	last := max(0, len(t.request.parts)-1) // the load will hardly get that far
	if _, err := t.request.once(t.base, last); err != nil {
		return err
	}
	_, err := t.load(ctx, 64, time.Second)
	return err
}

// engine is a database engine that the service is measured on.
type engine struct {
	prefix string // prefix of the names of its cases
	// start starts the service on a copy of the store with this number of animals.
	start func(ctx context.Context, dir string, animals int) (*process, string, error)
	// insert imports animals without the service, as the baseline does, and returns the duration.
	insert   func(ctx context.Context, dir string, animals int) (time.Duration, error)
	baseline string
	// clear removes databases of earlier measurements that could still cause work.
	clear func(ctx context.Context) error
}

// sqliteEngine is the embedded database.
func (b *bench) sqliteEngine() engine {
	return engine{"", b.startOnFile, insertAll, bareInserts, func(context.Context) error { return nil }}
}

func (b *bench) startOnFile(ctx context.Context, dir string, animals int) (*process, string, error) {
	store, err := b.cache.store(ctx, animals)
	if err != nil {
		return nil, "", err
	}
	if err := copyFolder(store, dir); err != nil {
		return nil, "", err
	}
	return b.startOn(ctx, dir, filepath.Join(dir, databaseName))
}

// startOn starts the service on a database.
func (b *bench) startOn(ctx context.Context, dir, database string) (*process, string, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	p, err := startProcess(ctx, dir, []string{"ANIMALSTORE_API_KEY=" + strings.TrimPrefix(serviceKey, "Bearer ")},
		b.program("animalstore"), "serve", "--addr", addr, "--database", database)
	return p, "http://" + addr, err
}

// startBare starts the bare handler with a recorded response of the service.
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

// nginxSettings are tuned for speed: no access log, sendfile, cached file handles, long keep-alive.
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

// startNginx starts nginx with the body of a recorded response as a file, and with its headers.
func (b *bench) startNginx(ctx context.Context, dir string, a recordedResponse) (*process, string, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // other users cannot read the folder
	}
	var headers strings.Builder
	for name, values := range a.Header {
		switch name {
		case "Content-Type", "Content-Length", "Etag": // nginx writes its own
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
