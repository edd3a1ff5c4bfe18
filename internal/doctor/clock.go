package doctor

import (
	"context"
	"os"
	"time"

	"animalstore/internal/sqlstore"
)

const (
	// Holds use the server's clock, and sessions use the node's clock, so both clocks must agree.
	clockWarning = time.Second
	// Receivers of webhooks refuse signatures whose time is wrong by some minutes.
	clockProblem = 30 * time.Second
)

// checkClock compares this machine's clock with the server's clock. It ignores a difference that may only be due to
// the duration of the query.
func (s postgresServer) checkClock(ctx context.Context) {
	before := time.Now()
	var micros int64
	if _, err := s.First(ctx, "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)", &micros); err != nil {
		s.warn("clock", "Compare the clocks by hand.", "the server's time is unknown: %v", err)
		return
	}
	after, theirs := time.Now(), time.UnixMicro(micros)
	var difference time.Duration
	if theirs.Before(before) {
		difference = before.Sub(theirs)
	} else if theirs.After(after) {
		difference = theirs.Sub(after)
	}
	difference = difference.Round(time.Millisecond)
	const action = "Keep both clocks right with NTP."
	switch {
	case difference > clockProblem:
		s.problem("clock", action, "this machine's clock and the database server's differ by %s", difference)
	case difference > clockWarning:
		s.warn("clock", action, "this machine's clock and the database server's differ by %s", difference)
	default:
		s.ok("clock", "this machine's clock and the database server's agree")
	}
}

// futureTolerance is how far in the future a stored time may be. It allows for small corrections of the clock.
const futureTolerance = time.Minute

// checkClockOfFile checks that this machine's clock is not behind the time of the newest event or the modification
// times of the database files.
func (x *examiner) checkClockOfFile(ctx context.Context, c *sqlstore.Conn) {
	var micros int64
	found, err := c.First(ctx, "SELECT at FROM events ORDER BY id DESC LIMIT 1", &micros)
	newest, what := time.UnixMicro(micros), "the newest event"
	if err != nil || !found {
		newest = time.Time{}
	}
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(x.Database + suffix); err == nil && info.ModTime().After(newest) {
			newest, what = info.ModTime(), x.Database+suffix
		}
	}
	if ahead := newest.Sub(x.now); ahead > futureTolerance {
		x.problem("clock", "Set the clock, and keep it right with NTP.", "the clock says %s, but %s is from %s later",
			x.now.UTC().Format(time.RFC3339), what, ahead.Round(time.Second))
		return
	}
	x.ok("clock", "the clock says %s, which is later than everything that was stored", x.now.UTC().Format(time.RFC3339))
}
