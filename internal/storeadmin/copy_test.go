package storeadmin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

func silent(CopyProgress) {}

func mustCopy(t *testing.T, from, to string) []Copied {
	t.Helper()
	return must(Copy(t.Context(), from, to, silent))(t)
}

func expectRefused(t *testing.T, from, to, want string) {
	t.Helper()
	if _, err := Copy(t.Context(), from, to, silent); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// betweenEngines runs a test for each of the given directions, such as "file to server". Each time, the source is
// filled and the target is empty.
func betweenEngines(t *testing.T, test func(t *testing.T, from, to string), ways ...string) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			from, to, _ := strings.Cut(way, " to ")
			test(t, everyRow(t, from), engines[to](t))
		})
	}
}

// After a store has been copied to another database and back, all three databases have the same contents and
// assign the same ids next. The server's collation makes no difference.
func TestCopyRoundTrip(t *testing.T) {
	t.Parallel()
	betweenEngines(t, func(t *testing.T, from, to string) {
		want := storeContents(t, from)
		if sqlstore.IsURL(to) {
			execOn(t, to, `ALTER TABLE idempotency_records ALTER COLUMN key TYPE TEXT COLLATE "en-x-icu"`)
		}
		copied := mustCopy(t, from, to)
		back := engines[map[bool]string{true: "server", false: "file"}[sqlstore.IsURL(from)]](t)
		if diff := cmp.Diff(copied, mustCopy(t, to, back)); diff != "" {
			t.Errorf("the way back copied something else:\n%s", diff)
		}
		for name, database := range map[string]string{"source": from, "target": to, "back": back} {
			if diff := cmp.Diff(want, storeContents(t, database)); diff != "" {
				t.Errorf("the %s answers otherwise:\n%s", name, diff)
			}
			if got, want := nextIDs(t, database), [6]int64{8, 6, 4, 4, 3, 5}; got != want {
				t.Errorf("the %s goes on with %v, want %v", name, got, want)
			}
		}
	}, "file to server", "file to file", "server to server")
}

// A copy keeps the last assigned id, even if it is the largest possible id. If it were lost, the sequence would start
// over and assign ids again.
func TestCopyKeepsTheLastID(t *testing.T) {
	t.Parallel()
	from, to, back := engines["file"](t), engines["server"](t), engines["file"](t)
	with(t, from, func(tx shop.WriteTx) error { return tx.SetEnvironment(shop.Production) })
	execOn(t, from, "INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', 9223372036854775807), ('orders', 9223372036854775806)")
	copied := mustCopy(t, from, to)
	if copied[2].Last != math.MaxInt64 || copied[6].Last != math.MaxInt64-1 {
		t.Errorf("%v", copied)
	}
	if diff := cmp.Diff(copied, mustCopy(t, to, back)); diff != "" {
		t.Error(diff)
	}
}

// A copy includes events that the server has not published yet.
func TestCopyIncludesUnpublishedEvents(t *testing.T) {
	t.Parallel()
	from, to := engines["server"](t), engines["file"](t)
	event := func(subject string) shop.NewEvent {
		return shop.NewEvent{Type: shop.PetCreated, Subject: subject, Actor: "system", Data: []byte("{}")}
	}
	with(t, from, func(tx shop.WriteTx) error {
		return errors.Join(tx.SetEnvironment(shop.Production), tx.InsertEvents(event("published")))
	})
	with(t, from, func(tx shop.WriteTx) error { return tx.InsertEvents(event("first"), event("second")) })
	mustCopy(t, from, to)
	with(t, to, func(tx shop.WriteTx) error { return tx.InsertEvents(event("next")) })
	with(t, to, func(tx shop.WriteTx) error {
		events, err := tx.Events(shop.EventFilter{}, shop.PageRequest{Limit: 10})
		got := map[int64]string{}
		for _, e := range events.Items {
			got[e.ID] = e.Subject
		}
		if diff := cmp.Diff(map[int64]string{1: "published", 2: "first", 3: "second", 4: "next"}, got); diff != "" {
			t.Error(diff)
		}
		return err
	})
}

func TestCopyRefusesUnfitDatabases(t *testing.T) {
	t.Parallel()
	betweenEngines(t, func(t *testing.T, from, to string) {
		expectRefused(t, to, from, map[bool]string{true: "no store in it", false: "no such file"}[sqlstore.IsURL(to)])
		alias := from + "&application_name=x"
		if !sqlstore.IsURL(from) {
			alias = from + ".link"
			noError(t, os.Symlink(from, alias))
			for name, served := range map[string]string{"source": from, "target": to} {
				store := open(t, served, sqlstore.Options{Exclusive: true})
				expectRefused(t, from, to, "the "+name+": cannot lock the database")
				store.Close()
			}
		}
		expectRefused(t, from, from, errSameDatabase.Error())
		expectRefused(t, from, alias, errSameDatabase.Error())
		for table, change := range map[string][2]string{
			"settings":          {"INSERT INTO settings (name, value) VALUES ('x', 'y')", "DELETE FROM settings"},
			"pet_periods":       {"INSERT INTO pet_periods (begins_at, arrivals, sales) VALUES (1, 2, 3)", "DELETE FROM pet_periods"},
			"keys":              {"INSERT INTO keys (name, scopes, hint, created_at) VALUES ('', '', '', 0)", "DELETE FROM keys"},
			"pet_count_changes": {"INSERT INTO pet_count_changes (category_id, available, pending, sold, unspecified, begins_at, arrivals, sales) VALUES (1, 1, 0, 0, 0, 0, 1, 0)", "DELETE FROM pet_count_changes"},
		} {
			if table == "pet_count_changes" && !sqlstore.IsURL(to) {
				continue // only a server has this table
			}
			execOn(t, to, change[0])
			expectRefused(t, from, to, "not empty: there are rows in "+table)
			execOn(t, to, change[1])
		}
		mustCopy(t, from, to)
		expectRefused(t, from, to, "not empty")
	}, "file to file", "server to server")
}

// An interrupted copy leaves an empty target and can be repeated.
func TestInterruptedCopyLeavesNothing(t *testing.T) {
	t.Parallel()
	betweenEngines(t, func(t *testing.T, from, to string) {
		execOn(t, from, `
			WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < 1200)
			INSERT INTO pets (name, category_id) SELECT 'Rex', 0 FROM counted`)
		for _, at := range []CopyProgress{
			{Doing: "copying", Table: "pets", Rows: 1000},
			{Doing: "copying", Table: "keys", Rows: 2},
			{Doing: "checking", Table: "pets", Rows: 1000},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := Copy(ctx, from, to, func(p CopyProgress) {
				if p.Of = 0; p == at {
					cancel()
				}
			})
			if err == nil || ctx.Err() == nil {
				t.Errorf("cancelled at %+v: %v", at, err)
			}
			cancel()
			expectEmpty(t, to)
		}
		mustCopy(t, from, to)
	}, "file to server", "server to file")
}

func expectEmpty(t *testing.T, database string) {
	t.Helper()
	e := must(openEndpoint(t.Context(), database, sqlstore.Options{}))(t)
	defer e.close()
	noError(t, e.beginWrite(t.Context()))
	for _, table := range copiedTables {
		if last, err := e.lastID(t.Context(), &table); err != nil || last != 0 {
			t.Errorf("%s would go on after %d, %v", table.name, last, err)
		}
	}
}

// A copy fails if the target does not store exactly what was sent to it.
func TestCopyDetectsADifferentTarget(t *testing.T) {
	t.Parallel()
	from := everyRow(t, "file")
	for name, trigger := range map[string][]string{
		"file": {"CREATE TRIGGER meddle AFTER INSERT ON keys BEGIN UPDATE keys SET hint = 'abcd' WHERE id = NEW.id; END"},
		"server": {"CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.hint = 'abcd'; RETURN NEW; END $$",
			"CREATE TRIGGER meddle BEFORE INSERT ON keys FOR EACH ROW EXECUTE FUNCTION meddle()"},
	} {
		t.Run(name, func(t *testing.T) {
			to := engines[name](t)
			execOn(t, to, trigger...)
			expectRefused(t, from, to, "the target would have keys 2 rows")
			expectEmpty(t, to)
		})
	}
}

// This test fails if a new table or column was not added to copiedTables.
func TestCopiedTablesMatchTheSchemas(t *testing.T) {
	t.Parallel()
	const (
		ofSQLite = `
			SELECT t.name, c.name, c.type, c.pk, t.sql LIKE '%AUTOINCREMENT%' FROM sqlite_schema t, pragma_table_info(t.name) c
			WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`
		ofPostgres = `
			SELECT c.table_name, c.column_name, upper(c.data_type), coalesce(k.ordinal_position, 0),
				max(CASE c.is_identity WHEN 'YES' THEN 1 ELSE 0 END) OVER (PARTITION BY c.table_name)
			FROM information_schema.columns c LEFT JOIN (
				information_schema.key_column_usage k
				JOIN information_schema.table_constraints p ON p.constraint_name = k.constraint_name AND p.constraint_type = 'PRIMARY KEY')
				ON k.table_schema = c.table_schema AND k.table_name = c.table_name AND k.column_name = c.column_name
			WHERE c.table_schema = current_schema() AND c.is_generated = 'NEVER'`
	)
	// These tables are not copied, but rebuilt from the copied rows.
	search := append([]string{sqlstore.SearchProgressTable}, sqlstore.DerivedTables...)
	for name, c := range map[string]struct {
		query string
		kinds map[kind]string
		own   []string
	}{
		"file":   {ofSQLite, map[kind]string{integer: "INTEGER", text: "TEXT", blob: "BLOB"}, search},
		"server": {ofPostgres, map[kind]string{integer: "BIGINT", text: "TEXT", blob: "BYTEA"}, append(search, append(serverEngine.own, "schema_version", "event_turn")...)},
	} {
		t.Run(name, func(t *testing.T) {
			line := func(table, column, columnType string, key int, counts bool) string {
				return fmt.Sprintf("%s.%s %s, in the key: %d, counts: %v", table, column, columnType, key, counts)
			}
			var want, got []string
			for _, table := range copiedTables {
				for i, column := range table.columns {
					key := i + 1
					if key > table.key {
						key = 0
					}
					want = append(want, line(table.name, column.name, c.kinds[column.kind], key, table.hasSequence))
				}
			}
			e := must(openEndpoint(t.Context(), engines[name](t), sqlstore.Options{}))(t)
			defer e.close()
			rows := must(e.Query(t.Context(), c.query))(t)
			defer rows.Close()
			for rows.Next() {
				var table, column, columnType string
				var key, counts int
				noError(t, rows.Scan(&table, &column, &columnType, &key, &counts))
				if !slices.Contains(c.own, table) {
					got = append(got, line(table, column, columnType, key, counts == 1))
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" || rows.Err() != nil {
				t.Errorf("the copy (-) and the schema (+) differ: %v\n%s", rows.Err(), diff)
			}
		})
	}
}
