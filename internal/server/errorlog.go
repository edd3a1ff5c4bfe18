package server

import (
	"log"
	"log/slog"
	"strings"

	"animalstore/internal/admission"
)

// newErrorLog returns a logger for http.Server.ErrorLog. It suppresses repeated messages, because a client
// that opens thousands of connections or sends garbage must not fill the disk.
func newErrorLog(out *slog.Logger) *log.Logger {
	return log.New(&errorLog{out: out}, "", 0)
}

type errorLog struct {
	out      *slog.Logger
	throttle admission.LogThrottle
}

// Write logs one message, unless a message of the same kind was logged recently. Panics are always logged.
func (l *errorLog) Write(line []byte) (int, error) {
	switch message := strings.TrimSpace(string(line)); {
	case isPortProbe(message):
	case strings.HasPrefix(message, "http: panic"):
		l.out.Warn(message)
	default:
		l.throttle.Log(l.out, admission.ConnectionErrors, slog.LevelWarn, errorKind(message), message)
	}
	return len(line), nil
}

// isPortProbe reports whether the message is about a client that disconnected without sending anything. Load
// balancers do this to check that a port is open.
func isPortProbe(message string) bool {
	return strings.HasPrefix(message, "http: TLS handshake error ") &&
		(strings.HasSuffix(message, ": EOF") || strings.HasSuffix(message, ": connection reset by peer"))
}

// errorKind returns the first three words of a message, which are the same for all connections.
func errorKind(message string) string {
	words := strings.Fields(message)
	return strings.Join(words[:min(3, len(words))], " ")
}
