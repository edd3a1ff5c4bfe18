package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/sqlstore/engine"
)

// groups commits writes in groups. Each group is one READ COMMITTED transaction and takes two round trips to the
// server, however many writes it has:
//
//  1. The first one begins the transaction and executes the statements of Unit.Load. They lock the rows that the group
//     changes, and then read everything else.
//  2. The writes run one after another in memory. If a write is refused, only its own changes are dropped.
//  3. The second one executes the statements of Unit.Save and commits the transaction.
//
// Locks replace the conflict detection of SERIALIZABLE. A unit never waits for a row: if another transaction has locked
// it, the write that needs the row runs alone. If a group fails, all of its writes run alone. Therefore two groups cannot
// deadlock, and a node that has stopped holds up only the writes that need the rows that it has locked.
type groups struct {
	queue   *engine.Queue
	engine  *Engine
	workers sync.WaitGroup
}

const (
	// groupWorkers is the number of groups that a node runs at the same time. One group can run while another one is
	// waiting for the disk.
	groupWorkers = 2
	// groupTimeouts is a statement that limits how long a group waits for a lock and, if this node stops, how
	// long the server keeps the group's locks. The limits apply until the transaction ends.
	groupTimeouts = "SELECT set_config('lock_timeout', '1s', TRUE), set_config('idle_in_transaction_session_timeout', '5s', TRUE)"
)

func startGroups(e *Engine) *groups {
	g := &groups{queue: engine.NewQueue(), engine: e}
	for range groupWorkers {
		g.workers.Go(g.loop)
	}
	return g
}

// stop refuses new writes and waits until all queued writes have finished.
func (g *groups) stop() {
	g.queue.Close()
	g.workers.Wait()
}

func (g *groups) loop() {
	o := &g.engine.options
	for writes := g.queue.Next(); writes != nil; writes = g.queue.Next() {
		start := o.Spans.Now()
		touched, err := g.engine.commitGroup(writes)
		o.AfterWrite(touched, err == nil)
		o.Spans.Group(start, writes, err)
		engine.Finish(writes, err)
	}
}

// commitGroup runs writes in one transaction and commits it. An error applies to all writes. If it wraps
// errUnknownOutcome, all of them may have been committed. If it does not, none of them has been.
func (e *Engine) commitGroup(writes []*engine.Write) (touched engine.Touched, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), e.timeout)
	defer cancel()
	commitID := newCommitID()
	var lost error // the reason why the outcome of COMMIT is not known
	err = e.withConn(ctx, func(conn *pgx.Conn) error {
		unit := e.options.NewUnit()
		if err := loadGroup(ctx, conn, unit, writes); err != nil {
			return rollback(conn, err)
		}
		for _, w := range writes {
			if w.Err = w.Begin(); w.Err == nil {
				w.Err = w.Call(func() error { return unit.Run(w.Declared) })
			}
		}
		var b engine.Batch
		touched = unit.Save(&b)
		stateOf(conn).committing.Store(true)
		err := e.options.Metrics.Commit(func() error { return saveGroup(ctx, conn, &b, commitID) })
		if err != nil && !isRolledBack(err) {
			lost = err
			return err
		}
		return rollback(conn, err)
	})
	switch {
	case lost != nil:
		err = e.resolveCommit(ctx, commitID, lost)
	case err != nil && ctx.Err() != nil:
		return touched, engine.EndedError(ctx.Err()) // the time is over
	}
	switch {
	case err == nil:
		e.options.Metrics.Group.Observe(float64(len(writes)))
		return touched, nil
	case errors.Is(err, errUnknownOutcome):
		return touched, err
	}
	e.countRetry(err)
	return touched, engine.ErrAlone
}

// loadGroup begins a transaction and loads the rows that the writes have declared, in one round trip.
func loadGroup(ctx context.Context, conn *pgx.Conn, unit engine.Unit, writes []*engine.Write) error {
	declared := make([]any, len(writes))
	for i, w := range writes {
		declared[i] = w.Declared
	}
	var b engine.Batch
	b.Exec("BEGIN ISOLATION LEVEL READ COMMITTED")
	b.Exec(groupTimeouts)
	unit.Load(&b, declared)
	return sendBatch(ctx, conn, &b)
}

// saveGroup executes the statements of a unit and commits the transaction, in one round trip. If one of the statements
// fails, the server does not execute the COMMIT.
func saveGroup(ctx context.Context, conn *pgx.Conn, b *engine.Batch, commitID []byte) error {
	// A group that writes nothing needs no commit id, because it does not matter whether it is committed.
	if len(b.Statements) > 0 {
		b.Exec(insertOutcome, commitID)
	}
	b.Exec("COMMIT")
	return sendBatch(ctx, conn, b)
}

func sendBatch(ctx context.Context, conn *pgx.Conn, b *engine.Batch) error {
	var queued pgx.Batch
	queueBatch(&queued, b)
	return conn.SendBatch(ctx, &queued).Close()
}

// rollback rolls back the transaction on a connection if err is not nil. It returns err.
func rollback(conn *pgx.Conn, err error) error {
	if err == nil || conn.IsClosed() {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn.Exec(ctx, "ROLLBACK") // if the ROLLBACK fails, the connection is not used again
	return err
}
