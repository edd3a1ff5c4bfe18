package bench

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// report collects the results of all cases.
type report struct {
	load string // the machine's load average before the run
	rows []row
}

// row contains the samples of one case by subject. Samples with the same index were measured one after another.
type row struct {
	name    string
	samples map[string][]sample
}

// minRatio is the ratio of throughputs that no case should fall below.
const minRatio = 0.9

const method = `Both versions start with the same 500,000 animals, which version 1.1 has imported. Eight of ten animals are available. In each
case the subjects take turns in alternating order, from the same machine: wrk loads one after the other over 64 connections. The first turn
of each subject is not counted. The ratio is the median over the pairs of consecutive turns, so that a slow phase of the machine hardly
affects it. The bare handler is net/http: it sends the bytes that the service sent, or decodes the body and responds in the same format. It
checks no key and stores nothing. An import is the whole command with 50,000 rows. PostgreSQL runs on the same machine, with durable commits.
`

// write prints the report. After a complete run, it also writes it to RESULTS.md.
func (r report) write(t *testing.T) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmark results\n\nMeasured by `make bench` on %s: %d pairs of turns of %d s for each case, on %d cores (%s), with %s. "+
		"The load average before the run was %s.\n\n%s\n", time.Now().UTC().Format("2 January 2006"), *pairs, *seconds, runtime.NumCPU(), processor(),
		runtime.Version(), r.load, method)
	b.WriteString("| Case | this version | p99 | 1.1 | p99 | this version ÷ 1.1 | lowest | highest | ÷ bare |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range r.rows {
		b.WriteString(c.String())
	}
	fmt.Print(b.String())
	if *only != "" {
		return
	}
	if err := os.WriteFile("RESULTS.md", []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
}

// String returns the row of the table. A median below minRatio is bold.
func (r row) String() string {
	ratios := r.ratios(oldVersion)
	if len(ratios) == 0 {
		return fmt.Sprintf("| %s | failed ||||||||\n", r.name)
	}
	ratio := fmt.Sprintf("%.2f", median(ratios))
	if median(ratios) < minRatio {
		ratio = "**" + ratio + "**"
	}
	beside := ""
	if ratios := r.ratios(bare); len(ratios) > 0 {
		beside = fmt.Sprintf("%.2f", median(ratios))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %.2f | %.2f | %s |\n", r.name, r.figures(newVersion), r.figures(oldVersion), ratio,
		slices.Min(ratios), slices.Max(ratios), beside)
}

// ratios divides the throughput of this version by that of another subject, turn by turn.
func (r row) ratios(other string) (ratios []float64) {
	for i := range min(len(r.samples[newVersion]), len(r.samples[other])) {
		ratios = append(ratios, r.samples[newVersion][i].perSecond/r.samples[other][i].perSecond)
	}
	return ratios
}

// figures returns the medians of a subject's throughput and 99th percentile.
func (r row) figures(subject string) string {
	var rates, latencies []float64
	for _, s := range r.samples[subject] {
		rates, latencies = append(rates, s.perSecond), append(latencies, float64(s.p99.Microseconds())/1000)
	}
	if median(latencies) == 0 { // an import is one request after another, whose times are not measured
		return fmt.Sprintf("%.0f/s | ", median(rates))
	}
	return fmt.Sprintf("%.0f/s | %.1f ms", median(rates), median(latencies))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// loadAverage returns the machine's load average over the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}
