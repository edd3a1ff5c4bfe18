package server

import (
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// errorInterval is how long a message of the same kind is suppressed.
const errorInterval = 10 * time.Second

// newErrorLog returns the http.Server's ErrorLog. It suppresses repeated messages: a client that opens
// thousands of connections, or sends garbage over them, must not fill the disk.
func newErrorLog(out *slog.Logger) *log.Logger {
	return log.New(&errorLog{out: out, logged: map[string]*loggedError{}, now: time.Now}, "", 0)
}

type errorLog struct {
	out    *slog.Logger
	now    func() time.Time
	mu     sync.Mutex
	logged map[string]*loggedError // by kind
}

// loggedError tells when a message of its kind was logged last, and how many were suppressed since.
type loggedError struct {
	at         time.Time
	suppressed int
}

// Write logs one message, unless one of the same kind was logged recently.
func (l *errorLog) Write(line []byte) (int, error) {
	message := strings.TrimSpace(string(line))
	if isPortProbe(message) {
		return len(line), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	kind := errorKind(message)
	last := l.logged[kind]
	if kind != "" && last != nil && l.now().Sub(last.at) < errorInterval {
		last.suppressed++
		return len(line), nil
	}
	if last != nil && last.suppressed > 0 {
		l.out.Warn(message, "suppressed", last.suppressed)
	} else {
		l.out.Warn(message)
	}
	l.logged[kind] = &loggedError{at: l.now()}
	return len(line), nil
}

// isPortProbe reports whether a client connected and disconnected without sending anything, as load balancers
// do to check that a port is open.
func isPortProbe(message string) bool {
	return strings.HasPrefix(message, "http: TLS handshake error ") &&
		(strings.HasSuffix(message, ": EOF") || strings.HasSuffix(message, ": connection reset by peer"))
}

// errorKind returns the words that messages about different connections have in common, or "" for a panic,
// which is always logged.
func errorKind(message string) string {
	words := strings.Fields(message)
	kind := strings.Join(words[:min(3, len(words))], " ")
	if strings.HasPrefix(kind, "http: panic") {
		return ""
	}
	return kind
}
