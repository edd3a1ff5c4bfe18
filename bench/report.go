package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"time"
)

// method is the part of the report that explains how the figures were measured.
const method = `In each round, every subject of a case is started on a fresh copy of its data, must give the expected response once, and is
warmed up for a second. Then the subjects take turns in alternating order: wrk loads one after the other for a second each, from
the same machine, so that the load generator uses part of the cores. The figures are medians over all turns. A ratio is the
median over pairs of consecutive turns, so that a slow phase of the machine hardly affects it. A turn with an unsuccessful
response or a broken connection gives no figure.

- **bare net/http** writes the same bytes and headers that animalstore sent; for creates and orders it decodes the body and
  responds in the same format. It checks no key and stores nothing. In the cases with creates it runs without them: another wrk
  sends the creates to animalstore, at an even pace.
- **nginx** serves the same body as a static file, with the same headers and without an access log.
- **PocketBase** has the same 100,000 animals, an index on their status, and rules that require a token. Its list omits the total
  and is sorted by row; its request log is off. Its commits do not wait for the disk (synchronous=NORMAL); those of animalstore
  do, and animalstore logs every request to a file.
- **depth of the page** requests pages at 2,000 positions from the first animal on, and at 2,000 from the thousandth page on; the
  ratio says how much more a page costs there.
- **bare SQLite loop** inserts the same animals and their events with two prepared statements, in one transaction, into a store
  with the same schema. The import is the whole command: it reads a CSV file, and every part is validated before the first one is
  written.
- **` + previous + `** is the previous release, built from its commit. It takes turns with today's version, in a store of its own with the same
  animals, on PostgreSQL on the same server with durable commits. It has no search index, and none of the limits of today's version. The
  target "≥ 1 connection" compares medians: many clients must not be slower than one.
- **CPU** is the processor time per request of the subject's processes, and of the PostgreSQL server with all its processes. In the cases with
  creates, both include the creates.
`

// maxNoteBytes is the maximum length of a note in the report. Without a limit, a note about an error could quote all
// statements of an import.
const maxNoteBytes = 1000

// report prints the results. After a complete run, it also writes them to RESULTS.md.
func (b *bench) report(ctx context.Context, scenarios []scenario) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Benchmark results\n\nMeasured by `make bench` on %s: %d rounds of %d turns of a second for each figure, on %d cores (%s), with the load generator on the same machine. "+
		"The load average before the run was %s.\n\n",
		time.Now().UTC().Format("2 January 2006"), b.rounds, b.seconds, runtime.NumCPU(), processor(), b.loadAverage)
	text.WriteString(b.results.table(scenarios))
	if len(b.startups) > 0 {
		text.WriteString("\n" + startTable(b.startups))
	}
	if len(b.importResults) > 0 {
		text.WriteString("\n" + importTable(b.importResults))
	}
	for _, name := range sortedNames(b.missing) {
		b.addNote("%s is not in the table: %s", name, b.missing[name])
	}
	for _, failure := range b.results.failures {
		b.addNote("no figure for %s", failure)
	}
	if len(b.notes) > 0 {
		text.WriteString("\n## Notes\n\n")
		for _, note := range b.notes {
			note = strings.ReplaceAll(strings.TrimSpace(note), "\n", " ")
			if len(note) > maxNoteBytes {
				note = strings.ToValidUTF8(note[:maxNoteBytes], "") + "…"
			}
			fmt.Fprintf(&text, "- %s\n", note)
		}
	}
	fmt.Fprintf(&text, "\n## Method\n\n%s\nVersions: %s.\n", method, strings.Join(b.versions(ctx), ", "))
	fmt.Print(text.String())
	if b.only.String() == "" {
		if err := os.WriteFile(filepath.Join(b.root, "bench", "RESULTS.md"), []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	if len(b.results.failures) > 0 {
		return fmt.Errorf("%d measurements failed", len(b.results.failures))
	}
	return nil
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

// readLoadAverage returns the machine's load average over the last minute.
func readLoadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
