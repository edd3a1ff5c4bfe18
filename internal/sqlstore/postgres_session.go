package sqlstore

import (
	"context"
	"database/sql"
)

// serverSession is a session on a PostgreSQL server.
type serverSession struct {
	conn  *sql.Conn
	owned *sql.DB // closed with the session; nil: the store's
}

func (s *serverSession) exec(ctx context.Context, query string, args []any) error {
	_, err := s.conn.ExecContext(ctx, query, args...)
	return err
}

func (s *serverSession) query(ctx context.Context, query string, args []any) (rows, error) {
	return s.conn.QueryContext(ctx, query, args...)
}

func (s *serverSession) close() {
	s.conn.Close()
	if s.owned != nil {
		s.owned.Close()
	}
}
