package admission

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// LogLimit says how many lines of one kind may be logged in each interval.
type LogLimit struct {
	Lines    int
	Interval time.Duration
}

// maxLogKinds is the maximum number of kinds of lines that a LogThrottle remembers. It limits the memory used.
const maxLogKinds = 1000

// LogThrottle limits how many lines of each kind are logged, because anybody could otherwise fill the disk. At the end
// of an interval, the log says how many lines were left out. The zero value is ready to use.
type LogThrottle struct {
	mu      sync.Mutex
	windows map[string]*logWindow
}

// logWindow counts the lines of one kind since start.
type logWindow struct {
	start           time.Time
	logged, leftOut int
}

// Allow reports whether a line of this kind may be logged. If it may not, Allow counts the line, and report is called at
// the end of the interval with the number of lines that were left out.
func (t *LogThrottle) Allow(limit LogLimit, kind string, report func(leftOut int)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	window, now := t.windows[kind], time.Now()
	if window == nil || now.Sub(window.start) >= limit.Interval && window.leftOut == 0 {
		if t.windows == nil || len(t.windows) >= maxLogKinds {
			t.windows = map[string]*logWindow{} // at worst, some lines are logged too soon
		}
		window = &logWindow{start: now}
		t.windows[kind] = window
	}
	if window.logged < limit.Lines {
		window.logged++
		return true
	}
	if window.leftOut++; window.leftOut == 1 {
		time.AfterFunc(window.start.Add(limit.Interval).Sub(now), func() { report(t.end(kind, window)) })
	}
	return false
}

// end ends an interval and returns how many lines were left out. The next line of this kind starts a new interval.
func (t *LogThrottle) end(kind string, window *logWindow) (leftOut int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.windows[kind] == window {
		delete(t.windows, kind)
	}
	return window.leftOut
}

// Log logs a message, unless the limit for messages of this kind is reached. At the end of the interval, it logs the
// first message that was left out, with the number of all that were.
func (t *LogThrottle) Log(log *slog.Logger, limit LogLimit, level slog.Level, kind, message string, args ...any) {
	if t.Allow(limit, kind, func(leftOut int) {
		log.Log(context.Background(), level, message, append(args, "suppressed", leftOut)...)
	}) {
		log.Log(context.Background(), level, message, args...)
	}
}
