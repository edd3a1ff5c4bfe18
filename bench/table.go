package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// results contains the measurements and failures from all rounds.
type results struct {
	samples  map[cell][]sample
	failures []string
}

// cell identifies the measurements for one row in the results table.
type cell struct {
	scenario, subject string
	connections       int
}

func (r *results) add(scenario, subject string, connections int, s sample) {
	if r.samples == nil {
		r.samples = map[cell][]sample{}
	}
	at := cell{scenario, subject, connections}
	r.samples[at] = append(r.samples[at], s)
}

func (r *results) fail(scenario, subject string, err error) {
	r.failures = append(r.failures, fmt.Sprintf("%s, %s: %v", scenario, subject, err))
}

// median returns the medians of the measurements for a cell. It returns false if there are no measurements.
func (r *results) median(at cell) (sample, bool) {
	samples := r.samples[at]
	if len(samples) == 0 {
		return sample{}, false
	}
	return sample{
		perSecond: medianOf(samples, func(s sample) float64 { return s.perSecond }),
		p50:       medianOf(samples, func(s sample) time.Duration { return s.p50 }),
		p99:       medianOf(samples, func(s sample) time.Duration { return s.p99 }),
		creates:   medianOf(samples, func(s sample) float64 { return s.creates }),
		cpu:       medianOf(samples, func(s sample) time.Duration { return s.cpu }),

		databaseCPU: medianOf(samples, func(s sample) time.Duration { return s.databaseCPU }),
	}, true
}

// ratio divides the throughput of one subject by that of another, separately for each turn, and returns the median of
// the quotients.
func (r *results) ratio(one, other cell) float64 {
	var ratios []float64
	for _, s := range r.samples[one] {
		for _, o := range r.samples[other] {
			if o.turn == s.turn { // if a subject failed, it has no samples for some turns
				ratios = append(ratios, s.perSecond/o.perSecond)
			}
		}
	}
	if len(ratios) == 0 {
		return math.NaN()
	}
	return medianOf(ratios, func(r float64) float64 { return r })
}

// medianOf returns the median of a value over all samples. If there are two middle values, it returns the
// lower one.
func medianOf[S any, V cmp.Ordered](samples []S, value func(S) V) V {
	var values []V
	for _, s := range samples {
		values = append(values, value(s))
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// table returns the results table with all medians and thresholds. It also contains the ratios between the
// first candidate and each of the others.
func (r *results) table(scenarios []scenario) string {
	var b strings.Builder
	b.WriteString("| Case | Connections | Subject | Requests/s | p50 | p99 | CPU | Database CPU | animalstore ÷ subject | Target | Met |\n")
	b.WriteString("|---|--:|---|--:|--:|--:|--:|--:|--:|--:|---|\n")
	for _, t := range scenarios {
		for _, connections := range connectionCounts {
			first, measured := r.median(cell{t.name, t.candidates[0].subject, connections})
			for i, c := range t.candidates {
				s, ok := r.median(cell{t.name, c.subject, connections})
				if !ok {
					continue
				}
				ratio, wanted, reached := "", "", ""
				if i > 0 && measured {
					value := r.ratio(cell{t.name, t.candidates[0].subject, connections}, cell{t.name, c.subject, connections})
					ratio = fmt.Sprintf("%.2f", value)
					wanted, reached = t.check(c.subject, connections, value, first)
				} else if one, ok := r.median(cell{t.name, c.subject, 1}); ok && t.scales && connections == 64 {
					wanted, reached = "≥ 1 connection", yesNo(s.perSecond >= one.perSecond)
				}
				name := c.subject
				if s.creates > 0 {
					name += fmt.Sprintf(" (with %.0f creates/s)", s.creates)
				}
				fmt.Fprintf(&b, "| %s | %d | %s | %.0f | %s | %s | %s | %s | %s | %s | %s |\n", t.name, connections, name,
					s.perSecond, milliseconds(s.p50), milliseconds(s.p99), microseconds(s.cpu), microseconds(s.databaseCPU), ratio, wanted, reached)
			}
		}
	}
	return b.String()
}

// check returns the threshold for a ratio and says whether the ratio meets it. If the concurrent creates were slower
// than required, the threshold is not met.
func (t scenario) check(subject string, connections int, ratio float64, first sample) (wanted, reached string) {
	for _, bar := range t.thresholds {
		if bar.against != subject || bar.connections != connections {
			continue
		}
		createsDone := first.creates >= 0.95*float64(t.candidates[0].concurrentCreates)
		if bar.most > 0 {
			return fmt.Sprintf("≤ %.2f", bar.most), yesNo(createsDone && ratio <= bar.most)
		}
		return fmt.Sprintf("≥ %.2f", bar.least), yesNo(createsDone && ratio >= bar.least)
	}
	return "", ""
}

func yesNo(reached bool) string {
	if reached {
		return "yes"
	}
	return "**no**"
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000)
}

// microseconds formats a duration. It returns "" if the duration is 0, because 0 means that it was not measured.
func microseconds(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}
