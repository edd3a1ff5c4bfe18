package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
	"animalstore/internal/shoptest"
	"animalstore/internal/sqlstore"
)

// inPostgres is the prefix for the names of the PostgreSQL cases.
const inPostgres = "PostgreSQL: "

// scenarios returns all cases in which the service uses PostgreSQL. Each compares one node of the service
// with one node of the previous version.
func (p *postgres) scenarios() []scenario {
	compare := func(name string, animals int, r request, creates int, thresholds ...threshold) scenario {
		return scenario{name: inPostgres + name, candidates: []candidate{
			p.bench.serviceOn(p.engine(), animals, r, creates), p.bench.serviceOn(p.previousEngine(), animals, r, creates).named(previous),
		}, thresholds: thresholds, scales: true}
	}
	return []scenario{
		compare("list, first page", small, listRequest(), 0, atLeast(4, previous)),
		compare("list, random cursors, a million animals", large, listFrom(randomCursors(large)), 0),
		compare("list beside 100 creates a second", small, listRequest(), 100, atLeast(2, previous)),
		compare("list beside 1,000 creates a second", small, listRequest(), 1000),
		compare("get, one animal", small, getRequest(), 0, atLeast(4, previous)),
		compare("get beside 100 creates a second", small, getRequest(), 100, atLeast(2, previous)),
		compare("get, random animals", small, getAnyRequest(), 0),
		compare("create", small, createRequest(), 0, atLeast(1.5, previous), atLeast(2.5, previous).with(256)),
		compare("place orders", large, orderRequest(large), 0, atLeast(4, previous), atLeast(8, previous).with(256)),
	}
}

// fakeTB is a testing.TB that makes it possible to use pgtest outside of tests.
type fakeTB struct {
	testing.TB
	cleanups []func()
	failed   error
}

func (h *fakeTB) Helper()          {}
func (h *fakeTB) Failed() bool     { return h.failed != nil }
func (h *fakeTB) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }
func (h *fakeTB) Error(args ...any) {
	h.failed = errors.Join(h.failed, errors.New(fmt.Sprint(args...)))
}
func (h *fakeTB) Logf(string, ...any) {}
func (h *fakeTB) Fatal(args ...any)   { panic(fatalError{errors.New(fmt.Sprint(args...))}) }

// fatalError is the value that Fatal panics with.
type fatalError struct{ error }

func (h *fakeTB) stop() error {
	for _, cleanup := range slices.Backward(h.cleanups) {
		cleanup()
	}
	return h.failed
}

// postgres is the PostgreSQL server for all cases. It has template databases for each version and number of animals.
type postgres struct {
	fakeTB
	bench  *bench
	url    string
	pid    int             // the process id of the server
	filled map[string]bool // the template databases that are complete
}

// startServer starts the PostgreSQL server, which is configured for durable commits.
func (p *postgres) startServer(ctx context.Context) (err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case fatalError:
			err = errors.Join(reason, p.stop())
		default:
			panic(reason)
		}
	}()
	server := pgtest.Start(p, append([]string{"shared_buffers=128MB", "max_wal_size=4GB"}, pgtest.Durable...)...)
	p.url = server.URL()
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return errors.Join(err, p.stop())
	}
	defer conn.Close(ctx)
	p.pid, err = parentOf(int(conn.PgConn().PID()))
	p.bench.postgresVersion = conn.PgConn().ParameterStatus("server_version")
	return err
}

// urlOf returns the URL of the database with the given name.
func (p *postgres) urlOf(database string) string {
	return strings.Replace(p.url, "/animalstore?", "/"+database+"?", 1)
}

// newDatabase creates the database for a binary of the service, with the given number of animals, and returns its
// URL. If the database already exists, newDatabase drops it first.
func (p *postgres) newDatabase(ctx context.Context, program string, animals int) (string, error) {
	template, err := p.fill(ctx, program, animals)
	if err != nil {
		return "", err
	}
	name := nameOf(program)
	return p.urlOf(name), p.execute(ctx, "animalstore", dropStatement(name),
		fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY FILE_COPY", name, template), "CHECKPOINT")
}

// nameOf returns the name of the database that a binary of the service uses.
func nameOf(program string) string { return "served_by_" + strings.ReplaceAll(program, "-", "_") }

func dropStatement(database string) string {
	return "DROP DATABASE IF EXISTS " + database + " WITH (FORCE)"
}

// clear drops the databases used for earlier measurements, because autovacuum would work on them during the
// next measurement.
func (p *postgres) clear(ctx context.Context) error {
	return p.execute(ctx, "animalstore", dropStatement(nameOf(serviceProgram)), dropStatement(nameOf(previousProgram)))
}

// fill creates the template database for a binary of the service and a number of animals, if it does not exist
// yet, and returns its name.
func (p *postgres) fill(ctx context.Context, program string, animals int) (template string, err error) {
	template = fmt.Sprintf("%s_%d", nameOf(program), animals)
	if p.filled[template] {
		return template, nil
	}
	p.bench.progress("copying %d animals to PostgreSQL for %s (only once)", animals, program)
	if err := p.execute(ctx, "animalstore", dropStatement(template), "CREATE DATABASE "+template); err != nil {
		return "", err
	}
	if animals > none {
		if err := p.copyStore(ctx, program, animals, template); err != nil {
			return "", err
		}
	}
	p.filled[template] = true
	return template, nil
}

// copyStore copies a store to a database and does the work that would otherwise disturb the measurement: it
// completes the search index and vacuums the database.
func (p *postgres) copyStore(ctx context.Context, program string, animals int, database string) error {
	store, err := p.bench.storeOf(ctx, program, animals)
	if err != nil {
		return err
	}
	if err := run(ctx, "", p.bench.program(program), "copy", "--database", filepath.Join(store, databaseName), "--to", p.urlOf(database)); err != nil {
		return err
	}
	if program != previousProgram { // the previous version has no search index
		if err := p.indexSearch(ctx, database); err != nil {
			return err
		}
	}
	return p.execute(ctx, database, "VACUUM ANALYZE")
}

// indexSearch completes the search index of a database.
func (p *postgres) indexSearch(ctx context.Context, database string) error {
	store, err := sqlstore.Open(ctx, p.urlOf(database), sqlstore.Options{})
	if err != nil {
		return err
	}
	return errors.Join(shoptest.IndexSearch(ctx, store), store.Close())
}

// runPostgres runs all rounds on PostgreSQL. The PostgreSQL server is running only during these rounds.
func (b *bench) runPostgres(ctx context.Context) (scenarios []scenario, err error) {
	server := &postgres{bench: b, filled: map[string]bool{}}
	scenarios = b.wanted(server.scenarios())
	if len(scenarios) == 0 && !b.wants(inPostgres+starts) && !b.wants(inPostgres+imports) {
		return nil, nil
	}
	if err := server.startServer(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	return scenarios, b.runRounds(ctx, server.engine(), scenarios)
}

func (p *postgres) execute(ctx context.Context, database string, statements ...string) error {
	conn, err := pgx.Connect(ctx, p.urlOf(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// engine returns the engine for the service on PostgreSQL. The baseline for its imports is the previous version.
func (p *postgres) engine() engine {
	e := p.engineFor(serviceProgram)
	e.baseline = previous
	e.insert = func(ctx context.Context, dir string, animals int) (time.Duration, error) {
		result, err := p.bench.importFile(ctx, p.previousEngine(), dir, animals)
		return result.took, err
	}
	return e
}

// previousEngine returns the engine for the previous version of the service on PostgreSQL.
func (p *postgres) previousEngine() engine { return p.engineFor(previousProgram) }

func (p *postgres) engineFor(program string) engine {
	return engine{prefix: inPostgres, program: program, database: func() int { return p.pid }, clear: p.clear,
		start: func(ctx context.Context, dir string, animals int) (*process, string, error) {
			url, err := p.newDatabase(ctx, program, animals)
			if err != nil {
				return nil, "", err
			}
			return p.bench.startOn(ctx, program, dir, url)
		}}
}
