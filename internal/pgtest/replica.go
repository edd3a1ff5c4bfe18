package pgtest

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// StartWithReplica starts a primary and a streaming replica with the same settings. If synchronous is true,
// the primary confirms a commit only after the replica has received it. Commits wait while the replica is
// down.
func StartWithReplica(t testing.TB, synchronous bool, settings ...string) (primary, replica *Server) {
	t.Helper()
	primarySettings := []string{"wal_keep_size=1GB"} // this setting lets the replica catch up after it has been down
	if synchronous {
		primarySettings = append(primarySettings, "synchronous_standby_names=replica")
	}
	primary = Start(t, append(primarySettings, settings...)...)

	replica, err := newServer(append([]string{
		fmt.Sprintf("primary_conninfo=host=127.0.0.1 port=%d user=animalstore application_name=replica", primary.port),
		"wal_retrieve_retry_interval=100ms", // a promotion may have to wait for this interval
	}, settings...)...)
	if err != nil {
		t.Fatal(err)
	}
	// A replica must start from a copy of the primary's data directory. This is already the case because both
	// data directories are copies of the same template.
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
			var streams bool
			err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_replication
				WHERE state = 'streaming' AND (sync_state = 'sync') = $1)`, synchronous).Scan(&streams)
			if err != nil {
				return fmt.Errorf("the replica does not stream: %w", err)
			}
			if streams {
				return nil
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

// Promote makes a replica the primary and waits until it accepts writes. Promote polls the server. A single query that
// waited for the end of recovery would hold a snapshot, and recovery may cancel a query whose snapshot conflicts with
// it.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	err := s.connect(func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "SELECT pg_promote(false)"); err != nil {
			return err
		}
		for {
			var recovering bool
			if err := conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&recovering); err != nil {
				return fmt.Errorf("the replica was not promoted: %w", err)
			}
			if !recovering {
				return nil
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
