package pgtest

import "testing"

// After the primary has been killed and the replica has been promoted, the replica has all confirmed rows and
// the same URL leads to it.
func TestFailoverURLFindsThePromotedReplica(t *testing.T) {
	t.Parallel()
	primary, replica := StartWithReplica(t, true)
	url := FailoverURL(replica, primary)
	conn := connect(t, url)
	execute(t, conn, "CREATE TABLE pet (id int)")
	for range 50 {
		execute(t, conn, "INSERT INTO pet VALUES (1)")
	}
	primary.Kill(t)
	replica.Promote(t)
	conn = connect(t, url)
	if n := queryInt(t, conn, "SELECT count(*) FROM pet"); n != 50 {
		t.Errorf("%d rows, want 50", n)
	}
	execute(t, conn, "INSERT INTO pet VALUES (2)")
}

// A commit waits while the synchronous replica is down. After a restart, the replica catches up.
func TestPrimaryWaitsForSynchronousReplica(t *testing.T) {
	t.Parallel()
	primary, replica := StartWithReplica(t, true)
	conn := connect(t, primary.URL())
	replica.Kill(t)
	written := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "CREATE TABLE pet AS SELECT 1 AS id")
		written <- err
	}()
	other := connect(t, primary.URL())
	eventually(t, "the commit waits for the replica", func() bool {
		return queryInt(t, other, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 1
	})
	replica.Restart(t)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	back := connect(t, replica.URL())
	eventually(t, "the replica has the table", func() bool {
		return queryInt(t, back, "SELECT count(*) FROM pg_tables WHERE tablename = 'pet'") == 1
	})
}
