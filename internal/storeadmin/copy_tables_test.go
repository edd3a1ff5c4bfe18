package storeadmin

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"animalstore/internal/sqlstore"
)

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
			WHERE c.table_schema = current_schema()`
	)
	for name, c := range map[string]struct {
		query string
		kinds map[kind]string
		own   []string
	}{
		"file":   {ofSQLite, map[kind]string{integer: "INTEGER", text: "TEXT", blob: "BLOB"}, nil},
		"server": {ofPostgres, map[kind]string{integer: "BIGINT", text: "TEXT", blob: "BYTEA"}, append(postgres.own, "schema_version", "event_turn")},
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
