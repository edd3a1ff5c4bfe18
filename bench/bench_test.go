// Package bench measures this version beside version 1.1, which is built from its commit, and beside a bare handler.
// Without the -pairs flag, nothing runs. `make bench` runs it.
package bench

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"animalstore/internal/pgtest"
	"animalstore/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

var (
	pairs   = flag.Int("pairs", 0, "the number of pairs of turns for each case")
	seconds = flag.Int("seconds", 2, "the length of a turn in seconds")
	only    = flag.String("only", "", "measure only the cases whose name matches this regular `expression`, such as '^PostgreSQL: place', and write no file")
)

// The subjects of the measurement.
const (
	newVersion = "this version"
	oldVersion = "1.1"
	bare       = "bare net/http"
)

// TestBench runs every case on SQLite and on PostgreSQL and reports the results. In each case, the subjects take turns
// in alternating order, so that a slow phase of the machine affects all of them.
func TestBench(t *testing.T) {
	if *pairs == 0 {
		t.Skip("runs by hand: make bench")
	}
	selected := regexp.MustCompile(*only)
	binaries := map[string]string{newVersion: buildStatic(t), oldVersion: programtest.Version11.Build(t)}
	r := report{load: loadAverage()}
	for _, engine := range []string{"SQLite", "PostgreSQL"} {
		cases := slices.DeleteFunc(allCases(), func(c benchCase) bool { return !selected.MatchString(engine + ": " + c.name) })
		if len(cases) == 0 {
			continue
		}
		t.Run(engine, func(t *testing.T) {
			var services []*subject
			if engine == "SQLite" {
				services = servicesOnSQLite(t, binaries)
			} else {
				server := pgtest.Start(t, append([]string{"shared_buffers=128MB", "max_wal_size=4GB"}, pgtest.Durable...)...)
				services = servicesOnPostgres(t, binaries, server)
			}
			for _, c := range cases {
				measured := measure(t, c, services, engine == "SQLite")
				r.rows = append(r.rows, row{engine + ": " + c.name, measured})
			}
		})
	}
	r.write(t)
}

// buildStatic builds this version with the same flags as the earlier one.
func buildStatic(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "animalstore")
	command := exec.Command("env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-o", path, "../cmd/animalstore")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return path
}

// measure lets the services take turns, after one turn each that is not counted. With alsoBare, the bare handler takes
// part if the case has one. A subject that fails gets no more turns.
func measure(t *testing.T, c benchCase, services []*subject, alsoBare bool) map[string][]sample {
	t.Helper()
	subjects := slices.Clone(services)
	if handler := c.bare; handler != nil && alsoBare {
		subjects = append(subjects, newBare(t, handler(t, services[0])))
	}
	samples := map[string][]sample{}
	for turn := range *pairs + 1 {
		subjects = slices.DeleteFunc(subjects, func(s *subject) bool {
			got, err := c.turn(t, s, turn)
			if err != nil {
				t.Errorf("%s: %s: %v", c.name, s.name, err)
				return true
			}
			fmt.Printf("%s: turn %d of %d, %s: %.0f/s\n", c.name, turn, *pairs, s.name, got.perSecond)
			if turn > 0 {
				samples[s.name] = append(samples[s.name], got)
			}
			return false
		})
		slices.Reverse(subjects)
	}
	return samples
}

// turnLength returns how long a turn takes.
func turnLength() time.Duration { return time.Duration(*seconds) * time.Second }
