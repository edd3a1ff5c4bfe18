package postgres

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
)

// timeline identifies a history of a PostgreSQL cluster. Every promotion of a standby starts a timeline with a
// higher number. A server on a lower timeline than one that was seen before has lost everything that was
// written since the promotion, and would assign the same ids again.
type timeline struct {
	System string // the identifier of the cluster
	Number int64  // 0 if the server does not report it
}

// String returns the timeline as a part of a version.
func (t timeline) String() string { return fmt.Sprintf("%s/%d", t.System, t.Number) }

// newTimeline returns the timeline that timelineSQL has selected. number is hexadecimal, because it comes from the
// name of a WAL file.
func newTimeline(number, system string) timeline {
	n, err := strconv.ParseInt(number, 16, 64)
	if err != nil {
		return timeline{}
	}
	return timeline{system, n}
}

// timelineError is the error for a server that is on a lower timeline than one that was seen before, or that
// belongs to another cluster.
type timelineError struct{ server, seen timeline }

func (e *timelineError) Error() string {
	if e.server.System != e.seen.System {
		return fmt.Sprintf("the server belongs to another cluster (system identifier %s) than the one that this node has used (%s); "+
			"if that is intended, restart the node", e.server.System, e.seen.System)
	}
	return fmt.Sprintf("the server is on timeline %d, but this store has been on timeline %d: a failover was undone, and "+
		"acknowledged writes are missing on this server; see \"A lost timeline\" in docs/operating.md",
		e.server.Number, e.seen.Number)
}

// isLostTimeline reports whether a server was refused because of its timeline.
func isLostTimeline(err error) bool {
	_, ok := errors.AsType[*timelineError](err)
	return ok
}

// timelineGuard remembers the highest timeline that this node has seen.
type timelineGuard struct {
	mu   sync.Mutex
	seen timeline
	// reported is the last refusal that this node has reported. It stays when another server is accepted. If the URL
	// lists a refused server and a good one, every new connection tries both, and only the first refusal is news.
	reported timelineError
}

// observe returns a *timelineError if a server must be refused. If not, it remembers the server's timeline.
func (g *timelineGuard) observe(server timeline) error {
	if server.Number == 0 {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen.Number != 0 && (server.System != g.seen.System || server.Number < g.seen.Number) {
		return &timelineError{server, g.seen}
	}
	g.seen = server
	return nil
}

// highest returns the highest timeline that this node has seen.
func (g *timelineGuard) highest() timeline {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.seen
}

// isOutdated reports whether this node has seen a higher timeline than that of a server.
func (g *timelineGuard) isOutdated(server timeline) bool {
	return server.Number != 0 && server.Number < g.highest().Number
}

// recordRefusal remembers a refusal and reports whether it differs from the last one.
func (g *timelineGuard) recordRefusal(refusal timelineError) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := g.reported != refusal
	g.reported = refusal
	return changed
}
