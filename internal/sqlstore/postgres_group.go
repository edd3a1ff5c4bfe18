package sqlstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/shop"
)

// postgresGroups commits writes in groups. Each group is one READ COMMITTED transaction and takes two round
// trips to the server, however many members it has. Only writes that declare their rows with a shop.WriteSet
// can be members.
//
//  1. load locks the declared pets, and then reads everything else that the members have declared.
//  2. The members run one after another in memory, as groupTx. If a member is refused, only its own
//     changes are dropped.
//  3. save writes everything that has changed and commits the transaction.
//
// Locks replace the conflict detection of SERIALIZABLE. Every write that changes a pet or the status of an
// order locks the pet first, in groups and elsewhere. A group never waits for a pet: if another transaction has
// locked it, the member that needs the pet runs in a transaction of its own. If a group fails, all of its members run
// in transactions of their own. Therefore two groups cannot deadlock, and a node that has stopped holds up only the
// members that need the pets that it has locked.
type postgresGroups struct {
	*writeQueue
	engine  *postgresEngine
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

// errUngrouped marks a write that must run in a transaction of its own.
var errUngrouped = errors.New("the write cannot run in a group")

func startGroups(p *postgresEngine) *postgresGroups {
	g := &postgresGroups{writeQueue: newWriteQueue(), engine: p}
	for range groupWorkers {
		g.workers.Go(g.loop)
	}
	return g
}

// stop refuses new writes and waits until all queued writes have finished.
func (g *postgresGroups) stop() {
	g.close()
	g.workers.Wait()
}

func (g *postgresGroups) loop() {
	for first := range g.members {
		members := []*member{first}
		for len(g.members) > 0 && len(members) < maxGroup {
			members = g.join(members)
		}
		start := g.engine.spans.now()
		changes, err := g.engine.commitGroup(members)
		g.engine.afterWrite(changes, err == nil)
		g.engine.spans.group(start, members, err)
		finish(members, err)
	}
}

// commitGroup runs members in one transaction and commits it. An error applies to all members. If it wraps errUnknown,
// all of them may have been committed. If it does not, none of them has been.
func (p *postgresEngine) commitGroup(members []*member) (changes effects, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), p.retryBudget)
	defer cancel()
	commitID := newCommitID()
	var lost error // the reason why the outcome of COMMIT is not known
	err = p.withConn(ctx, func(conn *pgx.Conn) error {
		g, err := p.loadGroup(ctx, conn, members)
		if err != nil {
			return rollback(conn, err)
		}
		for _, m := range members {
			g.run(m)
		}
		changes = g.changes
		stateOf(conn).committing.Store(true)
		err = p.metrics.commit(func() error { return g.save(ctx, conn, commitID) })
		// After a conflict, the server has certainly rolled the transaction back.
		if err != nil && !isConflict(err) {
			lost = err
			return err
		}
		return rollback(conn, err)
	})
	switch {
	case lost != nil:
		err = p.resolveCommit(ctx, commitID, lost)
	case err != nil && ctx.Err() != nil:
		return changes, endedError(ctx.Err()) // the retry budget is spent
	}
	switch {
	case err == nil:
		p.metrics.group.Observe(float64(len(members)))
		return changes, nil
	case errors.Is(err, errUnknown):
		return changes, err
	}
	p.metrics.retries.WithLabelValues(string(classify(err))).Inc()
	return changes, errUngrouped
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

// run runs one member on the rows of the group. The member's changes are kept only if it succeeds.
func (g *postgresGroup) run(m *member) {
	if m.err = m.begin(); m.err != nil {
		return
	}
	t := &groupTx{
		tx:    &tx{ctx: context.Background(), runner: ungroupedRunner{}, dialect: g.engine.dialect},
		group: g, pets: map[int64]shop.Pet{}, orders: map[int64]shop.Order{},
	}
	petIDs, orderIDs := g.petIDs, g.orderIDs
	m.err = t.run(func() error { return m.call(t) })
	if m.err == nil && m.panic == nil {
		g.apply(t)
	} else {
		g.petIDs, g.orderIDs = petIDs, orderIDs
	}
}

// ungroupedRunner is the runner of members of a group. It refuses every statement, so that a member that needs more
// than it has declared runs again in a transaction of its own.
type ungroupedRunner struct{}

func (ungroupedRunner) exec(context.Context, string, []any) error { return errUngrouped }

func (ungroupedRunner) query(context.Context, string, []any) (Rows, error) { return nil, errUngrouped }
