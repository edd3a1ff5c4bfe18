package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Listen calls published whenever a node has published rows, until the context ends. It uses a separate connection and
// reconnects after an error. Nodes also poll, because a connection pooler may suppress notifications. A notification
// only shortens the wait for the next poll.
func (e *Engine) Listen(ctx context.Context, published func()) {
	for ctx.Err() == nil {
		if conn, err := pgx.ConnectConfig(ctx, e.config.Copy()); err == nil {
			_, err = conn.Exec(ctx, "LISTEN "+e.options.Feed.Channel)
			for err == nil {
				if _, err = conn.WaitForNotification(ctx); err == nil {
					published()
				}
			}
			conn.Close(context.WithoutCancel(ctx))
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}
