package attack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// The limits that no attack may exceed.
const (
	maxMemory        = 300_000_000 // in bytes
	maxSlowdown      = 5           // the shop's p99 during the attack, as a multiple of its p99 without the attack
	maxSlowdownLater = 3           // the shop's p50 after the recovery, as a multiple of its p50 without the attack
	// How many more connections and goroutines there may be after the recovery than before the attack. The shop's own
	// requests make the numbers vary by a few.
	maxLeftConnections = 10
	maxLeftGoroutines  = 30
)

func (r row) memoryHolds() bool {
	return r.peak < maxMemory || r.photos && r.peak < r.before.resident+maxPhotoMemory
}
func (r row) answersHold() bool { return r.during.errors == 0 }

// latencyHolds reports whether the shop's p99 rose by at most a factor of maxSlowdown, or is at most twice the time of one
// import if the attack imports animals. It returns false if requests
// failed even without the attack, because then there is nothing to compare with.
func (r row) latencyHolds() bool {
	return r.quiet.errors == 0 && r.during.p99 <= max(maxSlowdown*r.quiet.p99, 2*r.oneImport)
}

// notRecovered describes each way in which the service has not recovered from the attack. It returns nil if the service
// has recovered.
func (r row) notRecovered() (differences []string) {
	if r.later.err != nil {
		return []string{r.later.err.Error()}
	}
	if r.later.resident >= maxMemory && !r.photos { // the memory of an image is given back when the collector has run
		differences = append(differences, megabytes(r.later.resident)+" of memory")
	}
	if got, before := r.later.connections, r.before.connections; got > before+maxLeftConnections {
		differences = append(differences, fmt.Sprintf("%d connections, %d before", got, before))
	}
	if got, before := r.later.goroutines, r.before.goroutines; got > before+maxLeftGoroutines {
		differences = append(differences, fmt.Sprintf("%d goroutines, %d before", got, before))
	}
	if r.after.p50 > maxSlowdownLater*r.quiet.p50 {
		differences = append(differences, fmt.Sprintf("p50 %s, %s before", milliseconds(r.after.p50), milliseconds(r.quiet.p50)))
	}
	if r.after.errors > 0 {
		differences = append(differences, fmt.Sprintf("%d errors", r.after.errors))
	}
	return differences
}

// problems describes each limit that the attack exceeded.
func (r row) problems() (problems []string) {
	if !r.memoryHolds() {
		problems = append(problems, "memory "+megabytes(r.peak))
	}
	if r.quiet.errors > 0 {
		problems = append(problems, fmt.Sprintf("%d errors without the attack (%s)", r.quiet.errors, r.quiet.firstError))
	} else if !r.latencyHolds() {
		problems = append(problems, fmt.Sprintf("p99 %s, %s without the attack", milliseconds(r.during.p99), milliseconds(r.quiet.p99)))
	}
	if !r.answersHold() {
		problems = append(problems, fmt.Sprintf("%d errors, of them %d 5xx (%s)", r.during.errors, r.during.serverErrors, r.during.firstError))
	}
	if left := r.notRecovered(); len(left) > 0 {
		problems = append(problems, fmt.Sprintf("%.0f s later: %s", recoveryTime.Seconds(), strings.Join(left, ", ")))
	}
	if r.exceeded != "" {
		problems = append(problems, r.exceeded)
	}
	return problems
}

// An attack that exceeds a single limit is reported with one problem, and one column of the table says FAIL.
func TestRowReportsEachExceededLimit(t *testing.T) {
	fine := row{
		peak: 100_000_000, before: state{100_000_000, 20, 50, nil}, later: state{200_000_000, 25, 60, nil},
		quiet:  latency{requests: 400, p50: 2 * time.Millisecond, p99: 10 * time.Millisecond},
		during: latency{requests: 400, p50: 9 * time.Millisecond, p99: 50 * time.Millisecond},
		after:  latency{requests: 120, p50: 6 * time.Millisecond},
	}
	for _, c := range []struct {
		name   string
		change func(*row)
		want   string
	}{
		{"nothing", func(*row) {}, ""},
		{"memory", func(r *row) { r.peak = 300_000_000 }, "memory 300"},
		{"p99", func(r *row) { r.during.p99 = 51 * time.Millisecond }, "p99 51.0, 10.0 without the attack"},
		{"nothing but an import", func(r *row) { r.during.p99, r.oneImport = 51*time.Millisecond, 26*time.Millisecond }, ""},
		{"errors before", func(r *row) { r.quiet.errors, r.quiet.firstError = 1, "EOF" }, "1 errors without the attack (EOF)"},
		{"5xx", func(r *row) { r.during = latency{400, 0, 0, 3, 2, "status 503"} }, "3 errors, of them 2 5xx (status 503)"},
		{"memory later", func(r *row) { r.later.resident = 300_000_000 }, "10 s later: 300 of memory"},
		{"p50 later", func(r *row) { r.after.p50 = 7 * time.Millisecond }, "10 s later: p50 7.0, 2.0 before"},
		{"errors later", func(r *row) { r.after.errors = 1 }, "10 s later: 1 errors"},
		{"connections later", func(r *row) { r.later.connections = 31 }, "10 s later: 31 connections, 20 before"},
		{"goroutines later", func(r *row) { r.later.goroutines = 81 }, "10 s later: 81 goroutines, 50 before"},
		{"no state later", func(r *row) { r.later.err = errors.New("refused") }, "10 s later: refused"},
		{"own limit", func(r *row) { r.exceeded = "too much log" }, "too much log"},
	} {
		r := fine
		c.change(&r)
		if got := strings.Join(r.problems(), "; "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if failed := strings.Count(table([]row{r}), "FAIL"); failed != min(len(c.want), 1) {
			t.Errorf("%s: the table has %d failed limits, want %d", c.name, failed, min(len(c.want), 1))
		}
	}
}
