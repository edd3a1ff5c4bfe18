package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// connState is what is known of a connection.
type connState struct {
	era        int64        // in which it was made
	committing *atomic.Bool // its COMMIT was sent
}

const connStateName = "animalstore"

func stateOf(conn *pgx.Conn) connState {
	state, _ := conn.PgConn().CustomData()[connStateName].(connState)
	return state
}

// prepare gives the connection that is about to be made its state.
//
// The driver asks a server to cancel whatever got no answer in time. A COMMIT must not be: a primary that waits for its
// synchronous replica would stop waiting, and show to everybody what a failover may still undo.
func (p *postgresEngine) prepare(_ context.Context, config *pgx.ConnConfig) error {
	dial, committing := config.DialFunc, new(atomic.Bool)
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if committing.Load() {
			return nil, errors.New("a COMMIT is not cancelled")
		}
		return dial(ctx, network, address)
	}
	config.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[connStateName] = connState{p.era.Load(), committing}
		return nil
	}
	return nil
}

func (p *postgresEngine) isOld(conn *pgx.Conn) bool { return stateOf(conn).era != p.era.Load() }

// ping asks a server that was not heard of for a while whether it is there. The driver would do the same, with all of the
// caller's time, and with each connection anew.
func (p *postgresEngine) ping(ctx context.Context, of stdlib.ShouldPingParams) (again bool) {
	if of.IdleDuration < time.Second || p.isOld(of.Conn) {
		return false
	}
	limit, cancel := context.WithTimeout(ctx, pgPingTimeout)
	defer cancel()
	if err := of.Conn.Ping(limit); err != nil {
		p.lose(ctx, stateOf(of.Conn).era)
	}
	return false
}

func (p *postgresEngine) refuseOld(_ context.Context, conn *pgx.Conn) error {
	if p.isOld(conn) {
		return driver.ErrBadConn
	}
	return nil
}

// drop keeps a connection from being used again, and all others of its era where the server is gone: each of them would
// cost somebody a try, or all of the time there is where the server is silent.
func (p *postgresEngine) drop(ctx context.Context, conn *sql.Conn, state connState, err error) {
	conn.Raw(func(any) error { return driver.ErrBadConn })
	if isGone(err) {
		p.lose(ctx, state.era)
	}
}

// lose notes that the server is gone to which there were connections in this era.
func (p *postgresEngine) lose(ctx context.Context, era int64) {
	if !errors.Is(ctx.Err(), context.Canceled) { // a caller that went away says nothing about the server
		p.era.CompareAndSwap(era, era+1)
	}
}
