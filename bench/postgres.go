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
	"animalstore/internal/storeadmin"
)

// inPostgres is the prefix for the names of the PostgreSQL cases.
const inPostgres = "PostgreSQL: "

// postgresCase compares one node of the service on PostgreSQL with a plain loop that sends the same queries.
type postgresCase struct {
	name              string
	animals           int
	request           request
	operation         operation
	concurrentCreates int // number of concurrent creates per second
	thresholds        []threshold
}

func postgresCases() []postgresCase {
	half := []threshold{atLeast(0.5, pgxLoop)}
	return []postgresCase{
		{"list, first page", small, listRequest(), listFirst, 0, half},
		{"list, random cursors, a million animals", large, listFrom(randomCursors(large)), listRandom, 0, nil},
		{"list beside 100 creates a second", small, listRequest(), listFirst, 100, nil},
		{"list beside 1,000 creates a second", small, listRequest(), listFirst, 1000, nil},
		{"get, one animal", small, getRequest(), getOne, 0, nil},
		{"get, random animals", small, getAnyRequest(), getAny, 0, nil},
		{"create", small, createRequest(), create, 0, half},
		{"place orders", large, orderRequest(large), placeOrder, 0, nil},
	}
}

func (p *postgres) scenario(d postgresCase) scenario {
	return scenario{inPostgres + d.name, []candidate{
		p.bench.serviceOn(p.engine(), d.animals, d.request, d.concurrentCreates), p.loopCandidate(d),
	}, d.thresholds}
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

// postgres is the PostgreSQL server for all cases. It has one template database for each number of animals.
type postgres struct {
	fakeTB
	bench            *bench
	url              string
	filled           map[int]bool // the numbers of animals for which a template database exists
	logStatements    bool         // if true, new databases log all statements
	idleTransactions [][]string   // transactions that the service sends when it receives no requests
}

// startPostgres starts a PostgreSQL server with durable commits.
func (b *bench) startPostgres() (p *postgres, err error) {
	p = &postgres{bench: b, filled: map[int]bool{}}
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
	return p, nil
}

// urlOf returns the URL of the database with the given name.
func (p *postgres) urlOf(database string) string {
	return strings.Replace(p.url, "/animalstore?", "/"+database+"?", 1)
}

// The names of the service's database, the loop's database and the template databases.
const served, looped, original = "served", "looped", "animals_%d"

// newDatabase creates a database from the template with the given number of animals and returns its URL. An
// existing database with the same name is dropped.
func (p *postgres) newDatabase(ctx context.Context, name string, animals int) (string, error) {
	if err := p.fill(ctx, animals); err != nil {
		return "", err
	}
	statements := []string{
		dropStatement(name),
		fmt.Sprintf("CREATE DATABASE %s TEMPLATE "+original+" STRATEGY FILE_COPY", name, animals),
		"CHECKPOINT",
	}
	if p.logStatements {
		statements = append(statements, "ALTER DATABASE "+name+" SET log_statement = 'all'", "ALTER DATABASE "+name+" SET log_parameter_max_length = 0")
	}
	return p.urlOf(name), p.execute(ctx, "animalstore", statements...)
}

func dropStatement(database string) string {
	return "DROP DATABASE IF EXISTS " + database + " WITH (FORCE)"
}

// clear drops the databases used for earlier measurements, because autovacuum would work on them during the
// next measurement.
func (p *postgres) clear(ctx context.Context) error {
	return p.execute(ctx, "animalstore", dropStatement(served), dropStatement(looped))
}

// fill creates the template database with the given number of animals if it does not exist yet.
func (p *postgres) fill(ctx context.Context, animals int) error {
	if p.filled[animals] {
		return nil
	}
	p.bench.progress("copying %d animals to PostgreSQL (only once)", animals)
	name := fmt.Sprintf(original, animals)
	store, err := p.bench.cache.store(ctx, animals)
	if err != nil {
		return err
	}
	if err := p.execute(ctx, "animalstore", "DROP DATABASE IF EXISTS "+name, "CREATE DATABASE "+name); err != nil {
		return err
	}
	if _, err := storeadmin.Copy(ctx, filepath.Join(store, databaseName), p.urlOf(name), func(storeadmin.CopyProgress) {}); err != nil {
		return err
	}
	target, err := sqlstore.Open(ctx, p.urlOf(name), sqlstore.Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(shoptest.IndexSearch(ctx, target), target.Close()); err != nil {
		return err
	}
	err = p.execute(ctx, name, "VACUUM ANALYZE") // otherwise, autovacuum would do this during the measurement
	p.filled[animals] = err == nil
	return err
}

// runPostgres runs all rounds on PostgreSQL. The PostgreSQL server is running only during these rounds.
func (b *bench) runPostgres(ctx context.Context) (scenarios []scenario, err error) {
	wanted := slices.DeleteFunc(postgresCases(), func(d postgresCase) bool { return !b.wants(inPostgres + d.name) })
	if len(wanted) == 0 && !b.wants(inPostgres+starts) && !b.wants(inPostgres+imports) {
		return nil, nil
	}
	server, err := b.startPostgres()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	if b.postgresVersion, err = server.version(ctx); err != nil {
		return nil, err
	}
	for _, d := range wanted {
		if err := server.checkQueries(ctx, d); err != nil {
			b.results.fail(inPostgres+d.name, pgxLoop, err)
			continue
		}
		scenarios = append(scenarios, server.scenario(d))
	}
	e := server.engine()
	if b.wants(inPostgres + imports) {
		if err := server.checkImportQueries(ctx); err != nil {
			e.insert = func(context.Context, string, int) (time.Duration, error) { return 0, err }
		}
	}
	return scenarios, b.runRounds(ctx, e, scenarios)
}

func (p *postgres) version(ctx context.Context) (version string, err error) {
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
	return version, err
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

func (p *postgres) engine() engine {
	return engine{inPostgres, p.startService, p.insertAll, pgxLoop, p.clear}
}

// startService starts one node of the service on a new database.
func (p *postgres) startService(ctx context.Context, dir string, animals int) (*process, string, error) {
	url, err := p.newDatabase(ctx, served, animals)
	if err != nil {
		return nil, "", err
	}
	return p.bench.startOn(ctx, dir, url)
}
