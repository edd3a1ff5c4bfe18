// Command bench measures the service, several baselines and a peer under the same load. It writes the results
// to RESULTS.md. `make bench` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"
)

// bench is one run of the benchmark.
type bench struct {
	root          string // the root folder of the repository
	work          string // the temporary folder for this run
	cache         cache
	seconds       int
	rounds        int
	only          *regexp.Regexp
	responses     map[string]recordedResponse
	missing       map[string]string // the reason why a subject is unavailable, keyed by subject
	results       results
	startups      map[startupKey][]startup
	importResults map[importKey][]importResult
	loadAverage   string // the machine's load average before the run

	postgresVersion string
	notes           []string
}

func main() {
	b := &bench{responses: map[string]recordedResponse{}, missing: map[string]string{}, startups: map[startupKey][]startup{}, importResults: map[importKey][]importResult{}}
	flag.IntVar(&b.seconds, "seconds", 3, "number of one-second turns of each subject in a round")
	flag.IntVar(&b.rounds, "rounds", 3, "number of rounds; medians are reported")
	only := flag.String("only", "", "measure only the cases whose name matches this regular expression, such as '^PostgreSQL: place', and write no file")
	flag.StringVar(&b.root, "root", "..", "root folder of the repository")
	flag.Parse()
	b.only = regexp.MustCompile(*only)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.seconds < 1 || b.rounds < 1 {
		return errors.New("-seconds and -rounds must be at least 1")
	}
	b.loadAverage = readLoadAverage()
	if b.root, err = filepath.Abs(b.root); err != nil {
		return err
	}
	if b.cache, err = openCache(b.root); err != nil {
		return err
	}
	if b.work, err = os.MkdirTemp("", "animalstore-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.work)) }()
	if err := b.build(ctx); err != nil {
		return err
	}
	scenarios := b.wanted(b.sqliteScenarios())
	if len(scenarios) > 0 {
		if err := b.buildOthers(ctx); err != nil {
			return err
		}
	}
	if err := b.runRounds(ctx, b.sqliteEngine(serviceProgram), scenarios); err != nil {
		return err
	}
	inPostgres, err := b.runPostgres(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		b.progress("%v", err)
		b.results.fail("PostgreSQL", "every subject", err)
	}
	return b.report(ctx, append(scenarios, inPostgres...))
}

// wanted returns the scenarios whose name matches the -only flag.
func (b *bench) wanted(scenarios []scenario) []scenario {
	return slices.DeleteFunc(scenarios, func(t scenario) bool { return !b.wants(t.name) })
}

func (b *bench) wants(name string) bool { return b.only.MatchString(name) }

// runRounds runs all rounds on one engine. Each round measures the scenarios, the starts and the imports.
func (b *bench) runRounds(ctx context.Context, e engine, scenarios []scenario) error {
	for round := range b.rounds {
		if err := b.runRound(ctx, round, scenarios); err != nil {
			return err
		}
		if err := b.measureStarts(ctx, e); err != nil {
			return err
		}
		if err := b.measureImports(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// runRound runs each scenario once. Failures are reported at the end and do not stop the other scenarios.
func (b *bench) runRound(ctx context.Context, round int, scenarios []scenario) error {
	for _, t := range scenarios {
		b.progress("round %d of %d: %s", round+1, b.rounds, t.name)
		b.runScenario(ctx, round, t)
	}
	return ctx.Err()
}

// runScenario starts all candidates in a scenario and measures them in alternating turns of one second, so that a
// period in which the machine is slow affects all of them equally.
func (b *bench) runScenario(ctx context.Context, round int, t scenario) {
	var running []*runningCandidate
	defer func() {
		for _, p := range running {
			if err := errors.Join(p.stop(), os.RemoveAll(p.dir)); err != nil {
				b.results.fail(t.name, p.subject, err)
			}
		}
	}()
	for _, c := range t.candidates {
		if _, isMissing := b.missing[c.subject]; isMissing {
			continue
		}
		p, err := b.start(ctx, c)
		if err != nil {
			b.results.fail(t.name, c.subject, err)
			continue
		}
		running = append(running, p)
	}
	for _, connections := range connectionCounts {
		if t.most > 0 && connections > t.most {
			continue
		}
		for i := range b.seconds {
			for _, p := range running {
				b.measureTurn(ctx, t, p, connections, round*b.seconds+i)
			}
			// Reverse the order after each turn. In a fixed order, each candidate would always run after the same
			// candidate and be slowed down by its deferred work.
			slices.Reverse(running)
		}
	}
}

// measureTurn applies the load to a candidate for one second. A candidate that has failed gets no more turns.
func (b *bench) measureTurn(ctx context.Context, t scenario, p *runningCandidate, connections, turn int) {
	if p.failed || ctx.Err() != nil {
		return
	}
	s, err := p.load(ctx, connections, time.Second)
	if err != nil {
		p.failed = true
		b.results.fail(t.name, p.subject, fmt.Errorf("at %d connections: %w", connections, err))
		return
	}
	b.progress("  %-32s %4d connections %10.0f /s", p.subject, connections, s.perSecond)
	s.turn = turn
	b.results.add(t.name, p.subject, connections, s)
}

// runningCandidate is a candidate that has been started.
type runningCandidate struct {
	target
	subject string
	dir     string
	failed  bool
}

func (b *bench) start(ctx context.Context, c candidate) (*runningCandidate, error) {
	dir, err := os.MkdirTemp(b.work, "subject-")
	if err != nil {
		return nil, err
	}
	running, err := c.start(ctx, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &runningCandidate{target: running, subject: c.subject, dir: dir}, nil
}

// recordedResponse returns the service's response to a request. The response is recorded only once.
func (b *bench) recordedResponse(ctx context.Context, animals int, r request) (a recordedResponse, err error) {
	name := fmt.Sprint(animals, r.method, r.path)
	if a, known := b.responses[name]; known {
		return a, nil
	}
	dir, err := os.MkdirTemp(b.work, "response-")
	if err != nil {
		return recordedResponse{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, base, err := b.startOnFile(ctx, serviceProgram, dir, animals)
	if err != nil {
		return recordedResponse{}, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if _, _, err := p.waitFor(base+"/readyz", ""); err != nil {
		return recordedResponse{}, err
	}
	if a, err = r.once(base, 0); err != nil {
		return recordedResponse{}, err
	}
	b.responses[name] = a
	return a, nil
}

// progress prints a progress message to stderr.
func (b *bench) progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// addNote adds a note to the report unless the report already contains the same note.
func (b *bench) addNote(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(b.notes, text) {
		b.notes = append(b.notes, text)
	}
}
