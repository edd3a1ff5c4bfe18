package sqlstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// timeline identifies a history of a PostgreSQL cluster. Every promotion of a standby starts a timeline with a
// higher number. A server on a lower timeline than one that was seen before has lost everything that was
// written since the promotion, and would assign the same ids and event positions again.
type timeline struct {
	System string // the identifier of the cluster
	Number int64  // 0 if the server does not say
}

// String returns the timeline in the format of timelineSetting.
func (t timeline) String() string { return fmt.Sprintf("%s/%d", t.System, t.Number) }

// parseTimeline parses a text that was returned by timeline.String. It returns no timeline if the text is
// something else.
func parseTimeline(text string) timeline {
	system, number, _ := strings.Cut(text, "/")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 {
		return timeline{}
	}
	return timeline{system, n}
}

// newTimeline returns the timeline that timelineSQL has selected. The number is in the first 8 hexadecimal
// digits of the name of a WAL file.
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
