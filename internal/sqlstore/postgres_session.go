package sqlstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// postgresSession is a session on a PostgreSQL server, with a connection of its own.
type postgresSession struct{ pgxRunner }

func openPostgresSession(ctx context.Context, config *pgx.ConnConfig) (postgresSession, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	return postgresSession{pgxRunner{conn}}, err
}

func (s postgresSession) close() { s.conn.Close(context.Background()) }
