package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Messages of the same kind are logged once per interval, with the number suppressed; panics are always
// logged.
func TestErrorLogSuppressesRepeats(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	now := time.Unix(0, 0)
	c := &errorLog{out: slog.New(slog.NewTextHandler(&written, nil)), logged: map[string]*loggedError{}, now: func() time.Time { return now }}
	write := func(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }
	for i := range 1000 {
		write("http: Accept error: accept tcp: too many open files; retrying in %dms", i)
		write("http: TLS handshake error from 10.0.0.%d:99: tls: no cipher suite supported by both client and server", i%200)
		write("http: TLS handshake error from 10.0.0.%d:99: EOF", i%200) // a port probe
	}
	write("http: panic serving 10.0.0.1:99: first")
	write("http: panic serving 10.0.0.1:99: second")
	now = now.Add(errorInterval)
	write("http: Accept error: accept tcp: too many open files; retrying in 5ms")
	write("")
	lines := strings.Split(strings.TrimSpace(written.String()), "\n")
	if len(lines) != 6 || strings.Contains(written.String(), "EOF") || !strings.Contains(lines[4], "Accept error") || !strings.HasSuffix(lines[4], "suppressed=999") {
		t.Errorf("%d lines:\n%s", len(lines), written.String())
	}
}
