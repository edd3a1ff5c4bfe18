package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// operation is the transaction that the service runs for a request. The parameter n of do is the number of
// operations that were started before this one.
type operation struct {
	writes bool
	do     func(ctx context.Context, tx pgx.Tx, n int64) error
}

// queryLoop runs the operation for a request in a loop, without HTTP.
type queryLoop struct {
	pool       *pgxpool.Pool
	started    atomic.Int64
	operation  operation
	concurrent operation
	pace       int // number of concurrent operations per second
}

// loopCandidate returns the candidate for a query loop, which runs on its own database.
func (p *postgres) loopCandidate(d postgresCase) candidate {
	return candidate{subject: pgxLoop, start: func(ctx context.Context, _ string) (target, error) {
		l, err := p.startLoop(ctx, d.animals)
		if err != nil {
			return nil, err
		}
		l.operation, l.concurrent, l.pace = d.operation, createConcurrently, d.concurrentCreates
		if _, err := l.load(ctx, 64, time.Second); err != nil { // warm-up
			return nil, stopAfter(l, err)
		}
		return l, nil
	}}
}

// startLoop creates a query loop that is connected to a new database. The caller must set the loop's
// operations.
func (p *postgres) startLoop(ctx context.Context, animals int) (*queryLoop, error) {
	url, err := p.newDatabase(ctx, looped, animals)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 32 // as many connections as a node of the service has
	pool, err := pgxpool.NewWithConfig(ctx, config)
	return &queryLoop{pool: pool}, err
}

func (l *queryLoop) stop() error {
	l.pool.Close()
	return nil
}

func (l *queryLoop) load(ctx context.Context, connections int, duration time.Duration) (sample, error) {
	limit, cancel := context.WithTimeout(ctx, duration+timeout)
	defer cancel()
	if l.pace == 0 {
		return l.measure(limit, connections, duration)
	}
	stop := make(chan struct{})
	var creates float64
	var createsErr error
	var both sync.WaitGroup
	both.Go(func() { creates, createsErr = l.keepPace(limit, stop) })
	time.Sleep(time.Second / 2) // the load starts half a second later, as for the service
	s, err := l.measure(limit, connections, duration)
	time.Sleep(time.Second / 2)
	close(stop)
	both.Wait()
	s.creates = creates
	return s, errors.Join(err, createsErr)
}

// measure repeats the operation on several connections for the given duration.
func (l *queryLoop) measure(ctx context.Context, connections int, duration time.Duration) (sample, error) {
	began := time.Now()
	took := make([][]time.Duration, connections)
	failed := make([]error, connections)
	var workers sync.WaitGroup
	for i := range connections {
		workers.Go(func() {
			for begin := time.Now(); begin.Sub(began) < duration; begin = time.Now() {
				if failed[i] = l.run(ctx, l.operation); failed[i] != nil {
					return
				}
				took[i] = append(took[i], time.Since(begin))
			}
		})
	}
	workers.Wait()
	whole := time.Since(began)
	if err := errors.Join(failed...); err != nil {
		return sample{}, err
	}
	all := slices.Concat(took...)
	slices.Sort(all)
	return sample{perSecond: float64(len(all)) / whole.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100]}, nil
}

// keepPace runs the concurrent operation at the configured rate until stop is closed. It returns the rate
// that it achieved.
func (l *queryLoop) keepPace(ctx context.Context, stop <-chan struct{}) (perSecond float64, err error) {
	began := time.Now()
	var turn, done atomic.Int64
	failed := make([]error, concurrentConnections)
	var workers sync.WaitGroup
	for i := range concurrentConnections {
		workers.Go(func() {
			for failed[i] == nil {
				at := began.Add(time.Duration(turn.Add(1)) * time.Second / time.Duration(l.pace))
				select {
				case <-stop:
					return
				case <-time.After(time.Until(at)):
				}
				if failed[i] = l.run(ctx, l.concurrent); failed[i] == nil {
					done.Add(1)
				}
			}
		})
	}
	workers.Wait()
	return float64(done.Load()) / time.Since(began).Seconds(), errors.Join(failed...)
}

// run runs an operation. After a serialization failure or a deadlock, it retries the operation with random
// backoff.
func (l *queryLoop) run(ctx context.Context, e operation) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	if e.writes {
		options = pgx.TxOptions{IsoLevel: pgx.Serializable}
	}
	n := l.started.Add(1) - 1
	for longest := time.Millisecond; ; longest = min(2*longest, 200*time.Millisecond) {
		err := l.try(ctx, options, e, n)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "40001" && refused.Code != "40P01" {
			return err
		}
		time.Sleep(rand.N(longest))
	}
}

func (l *queryLoop) try(ctx context.Context, options pgx.TxOptions, e operation, n int64) error {
	tx, err := l.pool.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // no effect after a commit
	if err := e.do(ctx, tx, n); err != nil || !e.writes {
		return err
	}
	if err := signCommit(ctx, tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
