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
	"github.com/jackc/pgx/v5/pgxpool"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore"
)

// trials are the cases against a PostgreSQL server: one node, beside a plain loop that sends the same queries.
func (p *postgres) trials(b *bench) []trial {
	connections := []int{1, 64}
	return []trial{
		{"PostgreSQL: list, first page", connections, []contestant{
			p.service(b, listRequest()), p.loop(listLoop),
		}, []bar{atLeast(0.5, pgxLoop)}},
		{"PostgreSQL: create", connections, []contestant{
			p.service(b, createRequest()), p.loop(createLoop),
		}, []bar{atLeast(0.5, pgxLoop)}},
	}
}

// holder lets a server of the tests live in a program that is no test.
type holder struct {
	testing.TB
	cleanups []func()
	failed   error
}

func (h *holder) Helper()          {}
func (h *holder) Failed() bool     { return h.failed != nil }
func (h *holder) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }
func (h *holder) Error(args ...any) {
	h.failed = errors.Join(h.failed, errors.New(fmt.Sprint(args...)))
}
func (h *holder) Logf(string, ...any) {}
func (h *holder) Fatal(args ...any)   { panic(holderError{errors.New(fmt.Sprint(args...))}) }

// holderError is what Fatal ends the start of a server with.
type holderError struct{ error }

func (h *holder) stop() error {
	for _, cleanup := range slices.Backward(h.cleanups) {
		cleanup()
	}
	return h.failed
}

// postgres is one server for all cases, with a database that each of them gets a copy of.
type postgres struct {
	holder
	url string
}

// startPostgres starts a server that waits for the disk at every commit, and copies the animals into it.
func (b *bench) startPostgres(ctx context.Context) (p *postgres, err error) {
	store, err := b.cache.store(ctx, small)
	if err != nil {
		return nil, err
	}
	p = &postgres{}
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case holderError:
			err = errors.Join(reason, p.stop())
		default:
			panic(reason)
		}
	}()
	server := pgtest.Start(p, append([]string{"shared_buffers=128MB"}, pgtest.Durable...)...)
	p.url = server.URL()
	_, err = sqlstore.Copy(ctx, filepath.Join(store, databaseName), p.url, func(sqlstore.CopyProgress) {})
	if err == nil { // what the server would do by itself after a while, in the midst of what is measured
		err = execute(ctx, p.url, "VACUUM ANALYZE")
	}
	if err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// fresh makes a new copy of the database under a name and returns its address. The one before it is dropped.
func (p *postgres) fresh(ctx context.Context, name string) (string, error) {
	at := func(database string) string { return strings.Replace(p.url, "/animalstore?", "/"+database+"?", 1) }
	err := execute(ctx, at("template1"), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)",
		"CREATE DATABASE "+name+" TEMPLATE animalstore STRATEGY FILE_COPY", "CHECKPOINT")
	return at(name), err
}

// playPostgres plays all rounds of the trials that need a server, so that it runs beside no other.
func (b *bench) playPostgres(ctx context.Context) (trials []trial, err error) {
	if len(b.wanted((&postgres{}).trials(b))) == 0 {
		return nil, nil
	}
	server, err := b.startPostgres(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	if b.postgresVersion, err = server.version(ctx); err != nil {
		return nil, err
	}
	trials = b.wanted(server.trials(b))
	for round := range b.rounds {
		if err := b.play(ctx, round, trials); err != nil {
			return nil, err
		}
	}
	return trials, nil
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

func execute(ctx context.Context, url string, statements ...string) error {
	conn, err := pgx.Connect(ctx, url)
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

func (p *postgres) service(b *bench, r request) contestant {
	return contestant{subject: service, start: func(ctx context.Context, dir string) (target, error) {
		url, err := p.fresh(ctx, "served")
		if err != nil {
			return nil, err
		}
		process, base, err := b.startOn(ctx, dir, url)
		if err != nil {
			return nil, err
		}
		return b.ready(ctx, &httpTarget{process: process, dir: dir, base: base, request: r}, "/v1/pets?limit=1")
	}}
}

func (p *postgres) loop(do query) contestant {
	return contestant{subject: pgxLoop, start: func(ctx context.Context, _ string) (target, error) {
		url, err := p.fresh(ctx, "looped")
		if err != nil {
			return nil, err
		}
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		config.MaxConns = 32 // as many as a node has
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			return nil, err
		}
		t := loop{pool, do}
		if _, err := t.load(ctx, 64, time.Second); err != nil { // to warm up
			return nil, closing(t, err)
		}
		return t, nil
	}}
}
