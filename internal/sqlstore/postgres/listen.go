package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Listen calls heard whenever a node has published rows, until the context ends. It uses a separate connection and
// reconnects after an error. Nodes also poll, because a connection pooler may suppress notifications. A notification
// only shortens the wait for the next poll.
func (p *Engine) Listen(ctx context.Context, heard func()) {
	for ctx.Err() == nil {
		if conn, err := pgx.ConnectConfig(ctx, p.config.Copy()); err == nil {
			_, err = conn.Exec(ctx, "LISTEN "+p.options.Feed.Channel)
			for err == nil {
				if _, err = conn.WaitForNotification(ctx); err == nil {
					heard()
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
