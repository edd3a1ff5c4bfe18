package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxLoggedKinds is the maximum number of message kinds that a LogLimiter remembers. It limits the memory
// used.
const maxLoggedKinds = 1000

// LogLimiter logs messages of the same kind at most once per interval. An error that repeats for hours or for
// thousands of connections therefore does not fill the disk.
type LogLimiter struct {
	log      *slog.Logger
	interval time.Duration
	mu       sync.Mutex
	logged   map[string]*loggedKind
}

// loggedKind records when a message of one kind was last logged and how many have been suppressed since.
type loggedKind struct {
	at         time.Time
	suppressed int
}

// NewLogLimiter returns a limiter that writes to the log at most one message of each kind per interval.
func NewLogLimiter(log *slog.Logger, interval time.Duration) *LogLimiter {
	return &LogLimiter{log: log, interval: interval, logged: map[string]*loggedKind{}}
}

// Log logs a message, unless a message of the same kind was logged within the interval. The next message of
// that kind includes the number of suppressed messages.
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
		clear(l.logged) // at worst, some messages are logged again too soon
	}
	l.logged[kind] = &loggedKind{at: time.Now()}
	l.log.Log(context.Background(), level, message, args...)
}
