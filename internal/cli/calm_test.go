package cli

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// The server says the same of many connections once in a while, and how many there were; a crash it says each time.
func TestCalmLog(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	now := time.Unix(0, 0)
	c := &calm{to: slog.New(slog.NewTextHandler(&written, nil)), said: map[string]*complaint{}, now: func() time.Time { return now }}
	say := func(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }
	for i := range 1000 {
		say("http: Accept error: accept tcp: too many open files; retrying in %dms", i)
		say("http: TLS handshake error from 10.0.0.%d:99: tls: no cipher suite supported by both client and server", i%200)
		say("http: TLS handshake error from 10.0.0.%d:99: EOF", i%200) // it only looked at the port
	}
	say("http: panic serving 10.0.0.1:99: first")
	say("http: panic serving 10.0.0.1:99: second")
	now = now.Add(calmFor)
	say("http: Accept error: accept tcp: too many open files; retrying in 5ms")
	say("")
	lines := strings.Split(strings.TrimSpace(written.String()), "\n")
	if len(lines) != 6 || strings.Contains(written.String(), "EOF") || !strings.Contains(lines[4], "Accept error") || !strings.HasSuffix(lines[4], "more_like_it=999") {
		t.Errorf("%d lines:\n%s", len(lines), written.String())
	}
}
