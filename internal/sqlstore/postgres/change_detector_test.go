package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore/engine"
)

// detectorHarness has a store on a server of its own. Autovacuum is off, so that transaction ids are assigned only to
// the transactions of the test.
type detectorHarness struct {
	*testing.T
	server *pgtest.Server
	store  *node
	direct *pgtest.DB
}

func newDetectorHarness(t *testing.T) *detectorHarness {
	t.Helper()
	server := pgtest.Start(t, "autovacuum=off", "max_prepared_transactions=2")
	must(t, createDatabase(server.URL()))
	h := &detectorHarness{t, server, open(t, server.URL(), Options{}), pgtest.Connect(t, server.URL())}
	write(t, h.store, adding("lamp"))
	h.awaitDetector()
	return h
}

// awaitDetector waits until the store has a session that can prove that nothing has changed.
func (h *detectorHarness) awaitDetector() {
	h.Helper()
	awaitDetector(h.T, h.store)
}

func awaitDetector(t *testing.T, store *node) {
	t.Helper()
	pgtest.Await(t, "the session of the detector", func() bool { return versionOf(t, store) != engine.Version{} })
}

// versionOf reads the database with one query and returns its version.
func versionOf(t *testing.T, store *node) engine.Version {
	t.Helper()
	stamp, err := store.Engine.Read(t.Context(), engine.ReadOptions{Single: true, Stamped: true, Versioned: true}, listing)
	must(t, err)
	return stamp.Version
}

func isCurrent(t *testing.T, store *node, version engine.Version) bool {
	t.Helper()
	now, _ := store.Version(t.Context(), version)
	return now == version
}

// burn uses up a transaction id by rolling back a transaction that changes nothing.
func (h *detectorHarness) burn() {
	h.Helper()
	tx, err := h.direct.BeginTx(h.Context(), nil)
	must(h.T, err)
	defer tx.Rollback()
	_, err = tx.Exec("SELECT pg_current_xact_id()")
	must(h.T, err)
}

func (h *detectorHarness) snapshot() string {
	h.Helper()
	return pgtest.Value[string](h.direct, "SELECT CAST(pg_current_snapshot() AS TEXT)")
}

// A version is current until a transaction commits, whatever kind of transaction that is and however long it has
// been open.
func TestEveryCommitMakesVersionsOutdated(t *testing.T) {
	t.Parallel()
	h := newDetectorHarness(t)
	conn, err := h.direct.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	const insert = "INSERT INTO things (name) VALUES ('chair')"
	for name, c := range map[string]struct{ before, commit []string }{
		"a statement":                 {nil, []string{insert}},
		"a long transaction":          {[]string{"BEGIN", insert}, []string{"COMMIT"}},
		"a subtransaction":            {[]string{"BEGIN", "SAVEPOINT a", insert, "RELEASE a"}, []string{"COMMIT"}},
		"an aborted subtransaction":   {[]string{"BEGIN", "SAVEPOINT a", insert, "ROLLBACK TO a", insert}, []string{"COMMIT"}},
		"many subtransactions":        {append([]string{"BEGIN"}, slices.Repeat([]string{"SAVEPOINT a", insert}, 70)...), []string{"COMMIT"}},
		"a prepared transaction":      {[]string{"BEGIN", insert, "PREPARE TRANSACTION 'a'"}, []string{"COMMIT PREPARED 'a'"}},
		"an asynchronous transaction": {[]string{"SET synchronous_commit = off"}, []string{insert, "RESET synchronous_commit"}},
		"a truncation":                {[]string{"BEGIN"}, []string{"TRUNCATE things CASCADE", "COMMIT"}},
	} {
		execute := func(statements []string) {
			for _, statement := range statements {
				_, err := conn.ExecContext(t.Context(), statement)
				must(t, err)
			}
		}
		execute(c.before)
		version := versionOf(t, h.store)
		for range 3 {
			if !isCurrent(t, h.store, version) {
				t.Errorf("%s: the version is not current before the commit", name)
			}
		}
		execute(c.commit)
		if isCurrent(t, h.store, version) {
			t.Errorf("%s: the version %+v is still current after the commit", name, version)
		}
	}
}

// A version from before a crash is never current after it. The crashed server has forgotten the ids of some
// transactions and gives them to others, so that an earlier snapshot appears again with other contents. If only the
// checkpointer was killed, even the time at which the server was started stays the same.
func TestCrashMakesVersionsOutdated(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]func(*detectorHarness){
		"of the server": func(h *detectorHarness) {
			h.server.Kill(h.T)
			h.server.Restart(h.T)
		},
		"of the checkpointer": func(h *detectorHarness) { h.server.KillCheckpointer(h.T) },
		// The frozen process cannot exit by itself. The server must not recover before this process is gone.
		"of the checkpointer, with a frozen session": func(h *detectorHarness) {
			h.server.SignalProcess(h.T, int(h.store.detector.session.Load().conn.PgConn().PID()), "STOP")
			h.server.KillCheckpointer(h.T)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newDetectorHarness(t)
			// Stop the WAL writer, which would otherwise write the ids of the transactions to disk.
			h.server.Signal(t, "walwriter", "STOP")
			for range 50 {
				h.burn()
			}
			version, snapshot := versionOf(t, h.store), h.snapshot()
			if !isCurrent(t, h.store, version) || !strings.HasSuffix(version.Snapshot, snapshot) {
				t.Fatalf("the version %+v is not current in %s", version, snapshot)
			}
			crash(h)
			h.direct = pgtest.Connect(t, h.server.URL())
			write(t, h.store, adding("chair"))
			if isCurrent(t, h.store, version) {
				t.Errorf("the version %+v is current directly after the crash", version)
			}
			h.awaitDetector()
			for n := 0; h.snapshot() != snapshot; n++ {
				if n == 50 {
					t.Fatalf("the snapshot is %s and will not be %s again", h.snapshot(), snapshot)
				}
				h.burn()
			}
			if again := versionOf(t, h.store); !strings.HasSuffix(again.Snapshot, snapshot) || again == version {
				t.Errorf("the version is %+v after the crash and was %+v", again, version)
			}
			if isCurrent(t, h.store, version) {
				t.Errorf("the version %+v is current after the crash", version)
			}
		})
	}
}

// A read gets the version of its snapshot, even if another transaction commits during the read. The version contains
// the id of the session that was open before the read.
func TestVersionBelongsToTheSnapshot(t *testing.T) {
	t.Parallel()
	h := newDetectorHarness(t)
	d := h.store.detector
	for name, during := range map[string]func(){
		"commit": func() { write(t, h.store, adding("chair")) },
		"new session": func() {
			d.drop(d.session.Load())
			h.awaitDetector()
		},
	} {
		id := d.session.Load().id
		stamp, err := h.store.Engine.Read(t.Context(), engine.ReadOptions{Stamped: true, Versioned: true}, func(tx *engine.Tx) error {
			err := listing(tx)
			during()
			return err
		})
		must(t, err)
		versionOf(t, h.store)
		if stamp.Version.SessionID != id || isCurrent(t, h.store, stamp.Version) {
			t.Errorf("after a %s, the version %+v is current; the session before the read was %d", name, stamp.Version, id)
		}
	}
}

// The version says which server it comes from: the cluster, the timeline, and when the server was started.
func TestVersionNamesTheServer(t *testing.T) {
	t.Parallel()
	h := newDetectorHarness(t)
	version := versionOf(t, h.store)
	want := pgtest.Value[string](h.direct, `SELECT system_identifier || '/1 ' || extract(epoch FROM pg_postmaster_start_time()) || ' ' || pg_current_snapshot()
		FROM pg_control_system()`)
	if version.Snapshot != want {
		t.Errorf("the version is %q, want %q", version.Snapshot, want)
	}
}

// Two servers are copies of one cluster, and the store's address may point to either of them. A version that was read
// on one of them is not confirmed by the other one, even if both have the same snapshot.
func TestAnotherServerDoesNotConfirmAVersion(t *testing.T) {
	t.Parallel()
	other := &detectorHarness{T: t, server: pgtest.Start(t, "autovacuum=off")}
	must(t, createDatabase(other.server.URL()))
	other.direct = pgtest.Connect(t, other.server.URL())
	h := &detectorHarness{T: t, server: pgtest.Start(t, "autovacuum=off")}
	must(t, createDatabase(h.server.URL()))
	h.direct = pgtest.Connect(t, h.server.URL())
	proxy := pgtest.StartProxy(t, h.server.URL())
	h.store = open(t, proxy.URL(), Options{})
	write(t, h.store, adding("lamp"))
	h.awaitDetector()
	held := h.store.pool.AcquireAllIdle(t.Context())
	proxy.Redirect(other.server)
	last := func(h *detectorHarness) int64 {
		return pgtest.Value[int64](h.direct, "SELECT CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT) AS BIGINT)")
	}
	for last(other) < last(h) {
		other.burn()
	}
	for last(h) < last(other) {
		h.burn()
	}
	version := versionOf(t, h.store)
	if snapshot := h.snapshot(); version == (engine.Version{}) || !strings.HasSuffix(version.Snapshot, snapshot) {
		t.Fatalf("the version is %+v, want the snapshot %s", version, snapshot)
	}
	if isCurrent(t, h.store, version) {
		t.Errorf("another server has confirmed %+v", version)
	}
	for _, conn := range held {
		conn.Release()
	}
}

// The detector drops its session if a connection to the server was lost, or if this node has seen a new primary. It also
// drops the session if another process of the server answers, which may happen behind a pooler.
func TestSessionOfTheDetectorIsDropped(t *testing.T) {
	t.Parallel()
	h := newDetectorHarness(t)
	e := h.store.Engine
	for _, c := range []struct {
		name   string
		change func(s *detectorSession)
	}{
		{"another process", func(s *detectorSession) {
			config := e.config.Copy()
			must(t, e.configureConn(t.Context(), config))
			conn, err := pgx.ConnectConfig(t.Context(), config)
			must(t, err)
			s.close()
			e.detector.session.Store(&detectorSession{conn: conn, id: s.id, token: s.token})
		}},
		{"a lost connection", func(*detectorSession) { e.startEpoch(t.Context(), e.epoch.Load()) }},
		{"a newer timeline", func(s *detectorSession) {
			server := timelineOf(s.conn)
			server.Number++
			must(t, e.timelines.observe(server))
		}},
	} {
		h.awaitDetector()
		version := versionOf(t, h.store)
		if !isCurrent(t, h.store, version) {
			t.Fatalf("%s: the version %+v is not current before", c.name, version)
		}
		c.change(e.detector.session.Load())
		if isCurrent(t, h.store, version) {
			t.Errorf("%s: the version is still current", c.name)
		}
	}
}

// A server gives no version if its snapshots have another meaning, as in some databases related to PostgreSQL.
func TestServersWithoutProofHaveNoVersion(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"constant snapshots":       "CREATE FUNCTION public.pg_current_snapshot() RETURNS pg_snapshot LANGUAGE sql AS 'SELECT CAST(''9:9:'' AS pg_snapshot)'",
		"all transactions ended":   "CREATE FUNCTION public.pg_current_snapshot() RETURNS pg_snapshot LANGUAGE sql AS 'SELECT CAST((1000000000 + extract(epoch FROM clock_timestamp()) * 1000)::bigint || '':'' || (1000000000 + extract(epoch FROM clock_timestamp()) * 1000)::bigint || '':'' AS pg_snapshot)'",
		"another version":          "CREATE FUNCTION public.version() RETURNS text LANGUAGE sql AS 'SELECT ''PostgreSQL 15.2-YB-2.25 on x86_64''::text'",
		"a function of a relative": "CREATE FUNCTION public.aurora_version() RETURNS text LANGUAGE sql AS 'SELECT ''16.1''::text'",
		"a standby":                "CREATE FUNCTION public.pg_is_in_recovery() RETURNS bool LANGUAGE sql AS 'SELECT TRUE'",
		"writes without ids":       "CREATE FUNCTION public.pg_current_xact_id_if_assigned() RETURNS xid8 LANGUAGE sql AS 'SELECT CAST(NULL AS xid8)'",
		"another storage engine": `CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler;
			CREATE TABLE other_things (LIKE things INCLUDING ALL) USING other; ALTER TABLE things RENAME TO heap_things; ALTER TABLE other_things RENAME TO things`,
		"a table elsewhere": "ALTER TABLE things RENAME TO other_things; CREATE VIEW things AS SELECT * FROM other_things",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := newDatabase(t)
			direct := pgtest.Connect(t, database)
			store := open(t, database, Options{})
			direct.Do(statement, fmt.Sprintf("ALTER DATABASE %s SET search_path = public, pg_catalog", direct.Name()))
			store.pool.Reset() // only new connections have the changed search path
			d := store.detector
			s, err := d.connect()
			if !errors.Is(err, errNoProof) {
				t.Errorf("got %+v, %v", s, err)
			}
			d.current()
			d.running.Wait()
			if versionOf(t, store) != (engine.Version{}) {
				t.Error("the database has a version")
			}
		})
	}
}

// A statement that a standby has executed gives no version, even if it was sent to the primary and a pooler passed it
// to the standby.
func TestStandbyHasNoVersion(t *testing.T) {
	t.Parallel()
	primary, standby := pgtest.StartWithReplica(t, true)
	must(t, createDatabase(primary.URL()))
	store := open(t, primary.URL(), Options{})
	write(t, store, adding("lamp"))
	awaitDetector(t, store)
	e := store.Engine
	session := e.detector.session.Load()
	var row stampRow
	direct := pgtest.Connect(t, standby.URL())
	must(t, direct.QueryRowContext(t.Context(), "SELECT "+versionColumns(true)).Scan(&row.version, &row.pid, &row.now))
	// Make the process ids equal. In containers, they are small numbers, so they may happen to be equal.
	row.pid = int64(session.conn.PgConn().PID())
	if stamp := e.stamp(row, session.conn, session); stamp.Version != (engine.Version{}) {
		t.Errorf("got %+v", stamp.Version)
	}
}

// There is no version if another process of the server executed the statement, or if the server has no timeline.
func TestVersionNeedsTheProcessOfTheConnection(t *testing.T) {
	t.Parallel()
	e := open(t, newDatabase(t), Options{}).Engine
	session := &detectorSession{id: 1}
	must(t, e.withConn(context.Background(), func(conn *pgx.Conn) error {
		for _, c := range []struct {
			pid   int64
			known bool
		}{{int64(conn.PgConn().PID()), true}, {int64(conn.PgConn().PID()) + 1, false}} {
			stamp := e.stamp(stampRow{version: "1 2:2:", pid: c.pid, now: 1}, conn, session)
			if known := stamp.Version != (engine.Version{}); known != c.known {
				t.Errorf("process %d: %+v", c.pid, stamp)
			}
		}
		delete(conn.PgConn().CustomData(), timelineKey)
		if stamp := e.stamp(stampRow{version: "1 2:2:", pid: int64(conn.PgConn().PID()), now: 1}, conn, session); stamp.Version != (engine.Version{}) {
			t.Errorf("without a timeline: %+v", stamp)
		}
		return nil
	}))
}
