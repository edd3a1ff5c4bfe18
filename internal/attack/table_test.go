package attack

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// row is the result of one attack.
type row struct {
	attack   string
	engine   engine
	protocol string
	result   result  // what the attacker counted
	peak     int64   // the most memory that the service used during the attack
	sockets  int64   // the most memory that the kernel held for connections during the attack
	logRate  float64 // bytes per second that the service logged during the attack
	// The shop's latency before the attack, during it, and after the recovery.
	quiet, during, after latency
	before, later        state
	oneImport            time.Duration // how long one import took without the attack; 0 if the attack imports nothing
	photos               bool          // whether the attack adds photos
	exceeded             string        // how the attack exceeded a limit that applies only to it, or "" if it exceeded none
}

// summary returns the row as a line of text, which is logged after each attack.
func (r row) summary() string {
	return fmt.Sprintf("%s; peak %s; p50 %s to %s, p99 %s to %s; %d errors of %d; problems: %s", r.result, megabytes(r.peak),
		milliseconds(r.quiet.p50), milliseconds(r.during.p50), milliseconds(r.quiet.p99), milliseconds(r.during.p99),
		r.during.errors, r.during.requests, strings.Join(r.problems(), "; "))
}

const header = `
The shop sends %d requests per second. Latency in ms: without the attack → during it. Memory in MB; that of sockets is the kernel's. "Later" is %v after the attack.

`

// table formats the results as one table.
func table(rows []row) string {
	var text strings.Builder
	fmt.Fprintf(&text, header, shopRate, recoveryTime)
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	cells := func(values ...string) { fmt.Fprintln(w, strings.Join(values, "\t")) }
	cells("attack", "engine", "protocol", "attacker sent", "log KB/s", "memory", "sockets", "p50", "p99", "errors", "5xx",
		"later: memory", "p50", "conns", "goroutines", "| memory", "p99", "errors", "later", "own limit")
	for _, r := range rows {
		cells(r.attack, string(r.engine), r.protocol, r.result.String(), fmt.Sprintf("%.0f", r.logRate/1000),
			megabytes(r.before.resident)+" → "+megabytes(r.peak), megabytes(r.sockets),
			milliseconds(r.quiet.p50)+" → "+milliseconds(r.during.p50), milliseconds(r.quiet.p99)+" → "+milliseconds(r.during.p99),
			fmt.Sprintf("%d of %d", r.during.errors, r.during.requests), fmt.Sprint(r.during.serverErrors),
			megabytes(r.later.resident), milliseconds(r.after.p50),
			fmt.Sprintf("%d → %d", r.before.connections, r.later.connections), fmt.Sprintf("%d → %d", r.before.goroutines, r.later.goroutines),
			"| "+passed(r.memoryHolds()), passed(r.latencyHolds()), passed(r.answersHold()), passed(len(r.notRecovered()) == 0), passed(r.exceeded == ""))
	}
	w.Flush() // writing to a strings.Builder cannot fail
	return text.String()
}

func passed(holds bool) string {
	if holds {
		return "pass"
	}
	return "FAIL"
}

func megabytes(n int64) string { return fmt.Sprintf("%d", n/1_000_000) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }
