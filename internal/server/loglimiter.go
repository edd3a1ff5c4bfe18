package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxLoggedKinds limits the memory of a LogLimiter.
const maxLoggedKinds = 1000

// LogLimiter logs messages of the same kind at most once per interval, so that an error that repeats, for
// thousands of connections or for hours, does not fill the disk.
type LogLimiter struct {
	log      *slog.Logger
	interval time.Duration
	mu       sync.Mutex
	logged   map[string]*loggedKind
}

// loggedKind records when a message of a kind was last logged, and how many were suppressed since.
type loggedKind struct {
	at         time.Time
	suppressed int
}

// NewLogLimiter returns a limiter that writes to a log.
func NewLogLimiter(log *slog.Logger, interval time.Duration) *LogLimiter {
	return &LogLimiter{log: log, interval: interval, logged: map[string]*loggedKind{}}
}

// Log logs a message, unless one of its kind was logged within the interval. The next message of the kind says
// how many were suppressed.
func (l *LogLimiter) Log(level slog.Level, kind, message string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.logged[kind]; last != nil {
		if time.Since(last.at) < l.interval {
			last.suppressed++
			return
		}
		if last.suppressed > 0 {
			args = append(args, "suppressed", last.suppressed)
		}
	}
	if len(l.logged) >= maxLoggedKinds {
		clear(l.logged) // at worst, some messages are logged again too early
	}
	l.logged[kind] = &loggedKind{at: time.Now()}
	l.log.Log(context.Background(), level, message, args...)
}
