package server

import (
	"log"
	"log/slog"
	"strings"
	"time"
)

// errorInterval is how long a message of the same kind is suppressed.
const errorInterval = 10 * time.Second

// newErrorLog returns the http.Server's ErrorLog. It suppresses repeated messages: a client that opens
// thousands of connections, or sends garbage over them, must not fill the disk.
func newErrorLog(out *slog.Logger) *log.Logger {
	return log.New(&errorLog{out, NewLogLimiter(out, errorInterval)}, "", 0)
}

type errorLog struct {
	out     *slog.Logger
	limiter *LogLimiter
}

// Write logs one message, unless one of the same kind was logged recently. Panics are always logged.
func (l *errorLog) Write(line []byte) (int, error) {
	switch message := strings.TrimSpace(string(line)); {
	case isPortProbe(message):
	case strings.HasPrefix(message, "http: panic"):
		l.out.Warn(message)
	default:
		l.limiter.Log(slog.LevelWarn, errorKind(message), message)
	}
	return len(line), nil
}

// isPortProbe reports whether a client connected and disconnected without sending anything, as load balancers
// do to check that a port is open.
func isPortProbe(message string) bool {
	return strings.HasPrefix(message, "http: TLS handshake error ") &&
		(strings.HasSuffix(message, ": EOF") || strings.HasSuffix(message, ": connection reset by peer"))
}

// errorKind returns the words that messages about different connections have in common.
func errorKind(message string) string {
	words := strings.Fields(message)
	return strings.Join(words[:min(3, len(words))], " ")
}
