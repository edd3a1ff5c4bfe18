package pgtest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// StartWithReplica starts a primary and a replica that follows it, with the same settings. Where that is synchronous, the
// primary answers a commit when the replica has it, too, and waits for a replica that is away.
func StartWithReplica(t testing.TB, synchronous bool, settings ...string) (primary, replica *Server) {
	t.Helper()
	lead := []string{"wal_keep_size=1GB"} // so that a replica that was away can catch up
	if synchronous {
		lead = append(lead, "synchronous_standby_names=replica")
	}
	primary = Start(t, append(lead, settings...)...)

	replica, err := newServer(append([]string{
		fmt.Sprintf("primary_conninfo=host=127.0.0.1 port=%d user=animalstore application_name=replica", primary.port),
		"wal_retrieve_retry_interval=100ms", // a promotion may have to wait for this, too
	}, settings...)...)
	if err != nil {
		t.Fatal(err)
	}
	// A copy of a data folder at rest is all that a replica needs to begin with, and both began with the same one.
	if err := replica.workspace.runCommand("", "touch", filepath.Join(replica.data, "standby.signal")); err != nil {
		t.Fatal(err)
	}
	replica.launch(t)
	if err := primary.awaitReplica(synchronous); err != nil {
		t.Fatal(err)
	}
	return primary, replica
}

func (s *Server) awaitReplica(synchronous bool) error {
	return s.connect(func(ctx context.Context, conn *pgx.Conn) error {
		for {
			var follows bool
			err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_replication
				WHERE state = 'streaming' AND (sync_state = 'sync') = $1)`, synchronous).Scan(&follows)
			if err != nil {
				return fmt.Errorf("the replica does not follow: %w", err)
			}
			if follows {
				return nil
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

// Promote makes a replica a primary, and waits until it is one.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	err := s.connect(func(ctx context.Context, conn *pgx.Conn) error {
		var promoted bool
		if err := conn.QueryRow(ctx, "SELECT pg_promote(true, $1)", int(stuckTimeout.Seconds())).Scan(&promoted); err != nil {
			return err
		}
		if !promoted {
			return errors.New("the replica cannot be promoted")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
