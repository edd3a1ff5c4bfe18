package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Messages of the same kind are logged once per interval, with the number of suppressed messages. Panics are
// always logged.
func TestErrorLogSuppressesRepeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var written bytes.Buffer
		out := newErrorLog(slog.New(slog.NewTextHandler(&written, nil)))
		for i := range 1000 {
			out.Printf("http: Accept error: accept tcp: too many open files; retrying in %dms", i)
			out.Printf("http: TLS handshake error from 10.0.0.%d:99: tls: no cipher suite supported by both client and server", i%200)
			out.Printf("http: TLS handshake error from 10.0.0.%d:99: EOF", i%200) // a port probe
		}
		out.Print("http: panic serving 10.0.0.1:99: first")
		out.Print("http: panic serving 10.0.0.1:99: second")
		time.Sleep(errorInterval)
		out.Print("http: Accept error: accept tcp: too many open files; retrying in 5ms")
		out.Print("")
		lines := strings.Split(strings.TrimSpace(written.String()), "\n")
		if len(lines) != 6 || strings.Contains(written.String(), "EOF") || !strings.Contains(lines[4], "Accept error") || !strings.HasSuffix(lines[4], "suppressed=999") {
			t.Errorf("%d lines:\n%s", len(lines), written.String())
		}
	})
}

// The limiter forgets old kinds of messages before they take too much memory.
func TestLogLimiterIsBounded(t *testing.T) {
	t.Parallel()
	l := NewLogLimiter(slog.New(slog.DiscardHandler), time.Minute)
	for i := range 2*maxLoggedKinds + 1 {
		l.Log(slog.LevelError, fmt.Sprint(i), "x")
	}
	if len(l.logged) > maxLoggedKinds {
		t.Errorf("the limiter remembers %d kinds", len(l.logged))
	}
}
