package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// serverSession is a session on a PostgreSQL server, with a connection outside the pool.
type serverSession struct{ pgxRunner }

func openServerSession(ctx context.Context, config *pgx.ConnConfig) (*serverSession, error) {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return nil, err
	}
	return &serverSession{pgxRunner{conn}}, nil
}

func (s *serverSession) close() {
	ctx, cancel := context.WithTimeout(context.Background(), pgPingTimeout)
	defer cancel()
	s.conn.Close(ctx)
}
