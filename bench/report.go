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

// method says how the figures came about, for those who want to judge them.
const method = `In each round every subject of a case is started afresh on a copy of its data, answers once as expected, and is warmed up for
a second. Then they take turns, to and fro: wrk drives one after the other for a second each, from the same machine, so that the load takes its
share of the cores. The figures are medians over all turns; a ratio is the median of those of turns that came one after the other,
so that a machine that is slower for a while changes it little. A turn with an answer that is no success, or with a broken
connection, gives no figure.

- **bare net/http** writes the very bytes and headers that animalstore answered; for creates and orders it decodes the body
  and answers in the same shape. It checks no key, and keeps nothing. Beside creates it stands alone, with none:
  they come from another wrk, at an even pace.
- **nginx** serves the same body as a static file, with the same headers and no log.
- **PocketBase** has the same 100,000 animals, an index on their status, and rules that ask for a token. Its list leaves the total
  out and is sorted by row; its log of requests is off. Its commits do not wait for the disk (synchronous=NORMAL); those of
  animalstore do, and it logs every request to a file.
- **depth of the page** asks for pages at 2,000 positions from the first animal on, and at 2,000 from the thousandth page on;
  the ratio says how much more a page costs there.
- **bare SQLite loop** inserts the same animals and their events with two prepared statements, in one transaction, into a store of
  the same schema. The import is the whole command: it reads a CSV file and has every part checked before the first is written.
- **plain pgx loop** sends the queries of the request to the same server over as many connections as a node has, without HTTP;
  "connections" are how many it does at a time. Before the first round, the server's log of one request and of one turn of the loop
  is compared: they are the same statements. The loop does nothing behind them (the service gives every event its place, and
  folds its counts), and does its own creates beside a list. It tries again after a random while where two get in each
  other's way; those of the service take turns then. A commit waits for the disk.
`

// report prints the table, and writes it down where the whole was measured.
func (b *bench) report(ctx context.Context, trials []scenario) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# How fast it is\n\nMeasured by `make bench` on %s: %d rounds of %d turns of a second for each figure, on %d cores (%s), with the load on the same machine. "+
		"Before it began, %s processes were busy on average.\n\n",
		time.Now().UTC().Format("2 January 2006"), b.rounds, b.seconds, runtime.NumCPU(), processor(), b.loadAverage)
	text.WriteString(b.results.table(trials))
	text.WriteString("\n" + startTable(b.startups))
	text.WriteString("\n" + importTable(b.importResults))
	for _, name := range sortedNames(b.missing) {
		b.addNote("%s is not in the table: %s", name, b.missing[name])
	}
	for _, failure := range b.results.failures {
		b.addNote("no figure for %s", failure)
	}
	if len(b.notes) > 0 {
		text.WriteString("\n## What to know\n\n")
		for _, note := range b.notes {
			fmt.Fprintf(&text, "- %s\n", strings.ReplaceAll(strings.TrimSpace(note), "\n", " "))
		}
	}
	fmt.Fprintf(&text, "\n## How it was measured\n\n%s\nVersions: %s.\n", method, strings.Join(b.versions(ctx), ", "))
	fmt.Print(text.String())
	if b.only == "" {
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

// readLoadAverage is how many processes were busy in the last minute, by the system's count.
func readLoadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "an unknown number of"
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
