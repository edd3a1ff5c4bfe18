package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"animalstore/internal/pgtest"
	"animalstore/internal/sqlstore/engine"
)

// A database with another encoding would store bytes that are not text, or refuse most letters. So the store refuses
// such a database with a one-line error that says how to fix it, and writes nothing to it.
func TestDatabaseWithAnotherEncodingIsRefused(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"SQL_ASCII", "LATIN1"} {
		database := pgtest.Shared(t).NewDatabaseInEncoding(t, encoding)
		for how, open := range map[string]func() error{
			"Open": func() error { return createDatabase(database) },
			"ConnectURL": func() error {
				_, _, err := ConnectURL(t.Context(), database)
				return err
			},
		} {
			want := "cannot open the database: the encoding of the database is " + encoding + ", but animalstore needs UTF8; " +
				"create a database with TEMPLATE template0 ENCODING 'UTF8' and use that"
			if err := open(); err == nil || err.Error() != want {
				t.Errorf("%s: got %v, want %s", how, err, want)
			}
		}
		if n := pgtest.Value[int](pgtest.Connect(t, database), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
			t.Errorf("the refused database has %d tables", n)
		}
	}
}

// majorVersion understands the version texts of PostgreSQL and related servers. pgversions.TestProgramLivesOnPostgres
// checks which versions of real servers the service accepts.
func TestMajorVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{
		"9.6.24": 9, "12.22": 12, "13.23 (Debian 13.23-1.pgdg120+1)": 13, "18beta1": 18, "19devel": 19, "15.2-YB-2.25": 15,
	} {
		if got, ok := majorVersion(version); got != want || !ok {
			t.Errorf("%s: got %d, %v, want %d", version, got, ok, want)
		}
	}
	for _, version := range []string{"", "unknown"} {
		if got, ok := majorVersion(version); ok {
			t.Errorf("%q: got %d, want none", version, got)
		}
	}
}

// commitSettings counts the sessions in a full pool by their value of synchronous_commit.
func commitSettings(t *testing.T, store *node) map[string]int {
	t.Helper()
	found := map[string]int{}
	for range defaultMaxConns {
		conn, err := store.pool.Acquire(t.Context())
		must(t, err)
		// Keep the connection until the end, because the next Acquire would return a released connection again.
		defer conn.Release()
		var value string
		must(t, conn.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&value))
		found[value]++
	}
	return found
}

// Whatever the database or the URL sets, the server confirms a COMMIT only after the transaction is on disk and, if
// there is a synchronous standby, on the standby's disk. A setting that is safer than "on" is kept.
func TestCommitsAreDurableWhateverTheSettings(t *testing.T) {
	t.Parallel()
	for weak, want := range map[string]string{"off": "on", "local": "on", "remote_write": "on", "remote_apply": "remote_apply"} {
		database := newDatabase(t)
		direct := pgtest.Connect(t, database)
		direct.Do("ALTER DATABASE " + direct.Name() + " SET synchronous_commit = " + weak)
		store := open(t, database, Options{})
		conn, err := store.Connect(t.Context())
		must(t, err)
		defer conn.Close()
		var got string
		_, err = engine.FirstRow(t.Context(), conn, "SHOW synchronous_commit", &got)
		must(t, err)
		if all := commitSettings(t, store); got != want || all[want] != defaultMaxConns {
			t.Errorf("%s: got %s and %v, want %s", weak, got, all, want)
		}
	}
	url := newDatabase(t) + "&synchronous_commit=off"
	if all := commitSettings(t, open(t, url, Options{})); all["on"] != defaultMaxConns {
		t.Errorf("in the URL: got %v, want on", all)
	}
}

// If an operator turns synchronous_commit off while the service is running, its sessions keep their own setting.
func TestCommitsStayDurableWhenTheServerIsReconfigured(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	store := open(t, server.URL(), Options{})
	fillPool(t, store)
	operator := pgtest.Connect(t, server.URL())
	operator.Do("ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()")
	observer, err := pgx.Connect(t.Context(), server.URL())
	must(t, err)
	defer observer.Close(context.Background())
	pgtest.Await(t, "the new setting", func() bool {
		var value string
		must(t, observer.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&value))
		return value == "off"
	})
	// Before its next statement, every session reads the configuration again.
	if all := commitSettings(t, store); all["on"] != defaultMaxConns {
		t.Errorf("got %v, want on", all)
	}
}

// If the database is replaced with an unsuitable one while the service is running, the service becomes unavailable
// and says why.
func TestUnsuitableServerIsUnavailable(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	database := newDatabase(t)
	store := open(t, database, Options{})
	name := pgtest.Connect(t, database).Name()
	pgtest.Connect(t, server.URL()).Do("DROP DATABASE "+name+" WITH (FORCE)",
		"CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'")
	err := store.Write(t.Context(), adding("lamp"))
	wantUnavailable(t, "a write", err)
	if kind := engine.KindOf(err); kind != engine.Unsuitable {
		t.Errorf("%v is %s", err, kind)
	}
	wantReady(t, store, engine.Unsuitable)
}
