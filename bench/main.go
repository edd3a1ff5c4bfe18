// bench measures the real service on a real database, beside baselines and a peer, with the same load, and writes what it
// found to RESULTS.md. `make bench` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// bench is one run.
type bench struct {
	root          string // of the repository
	work          string // a folder that goes with the run
	cache         cache
	seconds       int
	rounds        int
	only          string
	responses     map[string]recordedResponse
	missing       map[string]string // subjects that cannot be had here, and why
	results       results
	startups      map[startupKey][]startup
	importResults map[importKey][]importResult
	loadAverage   string // how busy the machine was before

	postgresVersion string
	notes           []string
}

func main() {
	b := &bench{responses: map[string]recordedResponse{}, missing: map[string]string{}, startups: map[startupKey][]startup{}, importResults: map[importKey][]importResult{}}
	flag.IntVar(&b.seconds, "seconds", 3, "how often each subject has its turn of a second in a round")
	flag.IntVar(&b.rounds, "rounds", 3, "how many rounds there are; medians are reported")
	flag.StringVar(&b.only, "only", "", "measure only the cases whose names contain this, and write no file")
	flag.StringVar(&b.root, "root", "..", "the folder of the repository")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.seconds < 1 || b.rounds < 1 {
		return errors.New("there must be at least one second and one round")
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
	trials := b.wanted(b.sqliteScenarios())
	if err := b.runRounds(ctx, b.sqliteEngine(), trials); err != nil {
		return err
	}
	inPostgres, err := b.runPostgres(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		b.progress("%v", err)
		b.results.fail("PostgreSQL", "every subject", err)
	}
	return b.report(ctx, append(trials, inPostgres...))
}

// wanted leaves out the trials that nobody asked for.
func (b *bench) wanted(trials []scenario) []scenario {
	return slices.DeleteFunc(trials, func(t scenario) bool { return !b.wants(t.name) })
}

func (b *bench) wants(name string) bool { return strings.Contains(name, b.only) }

// runRounds plays all rounds of one kind of database.
func (b *bench) runRounds(ctx context.Context, e engine, trials []scenario) error {
	for round := range b.rounds {
		if err := b.runRound(ctx, round, trials); err != nil {
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

// runRound goes through all trials once. What fails is reported at the end; the rest goes on.
func (b *bench) runRound(ctx context.Context, round int, trials []scenario) error {
	for _, t := range trials {
		b.progress("round %d of %d: %s", round+1, b.rounds, t.name)
		b.runScenario(ctx, round, t)
	}
	return ctx.Err()
}

// runScenario starts all subjects of a trial afresh and lets them take turns, a second each, to and fro: what slows the machine down
// for a while slows all of them.
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
		for i := range b.seconds {
			for _, p := range running {
				b.measureTurn(ctx, t, p, connections, round*b.seconds+i)
			}
			slices.Reverse(running) // so that nobody has always the same one before it, with what that one leaves to be done
		}
	}
}

// measureTurn drives a subject for a second. One that has failed has no more turns.
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

// runningCandidate is a subject that runs.
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

// recordedResponse is what the service answers to a request, asked once.
func (b *bench) recordedResponse(ctx context.Context, animals int, r request) (a recordedResponse, err error) {
	name := fmt.Sprint(animals, r.method, r.path)
	if a, known := b.responses[name]; known {
		return a, nil
	}
	dir, err := os.MkdirTemp(b.work, "answer-")
	if err != nil {
		return recordedResponse{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, base, err := b.startOnFile(ctx, dir, animals)
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

// progress tells whoever waits how far it is.
func (b *bench) progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// addNote keeps something that a reader of the results must know, once.
func (b *bench) addNote(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(b.notes, text) {
		b.notes = append(b.notes, text)
	}
}
