package sqlstore

import "sync"

// timelineGuard remembers the highest timeline that this node has seen.
type timelineGuard struct {
	mu       sync.Mutex
	seen     timeline
	reported timelineError // the refusal that was reported last
	recorded timelineError // the refusal that was recorded last
}

// observe returns a *timelineError if a server must be refused, and otherwise remembers its timeline.
// recorded is the timeline that a node has recorded on this server, if any.
func (g *timelineGuard) observe(server, recorded timeline) error {
	if server.Number == 0 {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen.Number == 0 {
		g.seen = server
	}
	// A record from another cluster came with a copy or a dump.
	if recorded.System == g.seen.System && recorded.Number > g.seen.Number {
		g.seen = recorded
	}
	if server.System != g.seen.System || server.Number < g.seen.Number {
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

// isOutdated reports whether this node has seen a higher timeline since a connection was opened.
func (g *timelineGuard) isOutdated(server timeline) bool {
	return server.Number != 0 && server.Number < g.highest().Number
}

// replace sets *last, which is a field of g, and reports whether it was different before.
func (g *timelineGuard) replace(last *timelineError, e timelineError) (changed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed = *last != e
	*last = e
	return changed
}
