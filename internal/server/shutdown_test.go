package server

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
)

// A stop lets the requests in progress finish, although it accepts no new ones.
func TestStopWaitsForRequestsInProgress(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	started, release := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(started)
		<-release
		io.WriteString(w, "complete")
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- New(Config{MaxConnections: 10, Log: slog.New(slog.DiscardHandler)}).Run(ctx, listener, handler, func() {})
	}()
	type response struct {
		body string
		err  error
	}
	got := make(chan response, 1)
	go func() {
		r, err := http.Get("http://" + address)
		if err != nil {
			got <- response{err: err}
			return
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		got <- response{string(body), err}
	}()
	<-started
	stop()
	for { // the stop begins by closing the listener
		conn, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		conn.Close()
	}
	close(release)
	if r := <-got; r.err != nil || r.body != "complete" {
		t.Errorf("got the response %q, %v, want it complete", r.body, r.err)
	}
	if err := <-ended; err != nil {
		t.Errorf("got %v from Run, want no error", err)
	}
}
