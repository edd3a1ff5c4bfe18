package web

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// sampledLines is the maximum number of lines per status that are logged in each sampleInterval for requests
	// without a valid API key.
	sampledLines   = 10
	sampleInterval = time.Second
)

// logSampler limits how many lines requests without a valid API key add to the access log, because anybody could
// otherwise fill the disk. It logs how many requests it has left out. The zero value is ready to use.
type logSampler struct {
	mu      sync.Mutex
	windows map[int]*sampleWindow // by status; there are so few statuses that the map stays small
}

// sampleWindow counts the requests with one status since start.
type sampleWindow struct {
	start           time.Time
	logged, leftOut int
}

// allow reports whether a request with this status may be logged. If it may not, allow counts the request, and a line
// at the end of the interval says how many were left out.
func (s *logSampler) allow(log *slog.Logger, status int, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	window := s.windows[status]
	if window == nil || now.Sub(window.start) >= sampleInterval && window.leftOut == 0 {
		if s.windows == nil {
			s.windows = map[int]*sampleWindow{}
		}
		window = &sampleWindow{start: now}
		s.windows[status] = window
	}
	if window.logged < sampledLines {
		window.logged++
		return true
	}
	if window.leftOut++; window.leftOut == 1 {
		time.AfterFunc(window.start.Add(sampleInterval).Sub(now), func() { s.report(log, status) })
	}
	return false
}

// report logs how many requests with the given status were left out. The next request with this status starts a
// new interval.
func (s *logSampler) report(log *slog.Logger, status int) {
	s.mu.Lock()
	leftOut := s.windows[status].leftOut
	delete(s.windows, status)
	s.mu.Unlock()
	log.Info("requests without a valid key were left out", "status", status, "requests", leftOut)
}
