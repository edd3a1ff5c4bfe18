package golden

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"animalstore/internal/programtest"
	"animalstore/internal/shoptest"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// schemaQueries contains, for each engine, queries that return the database schema as text with one row per
// schema object.
var schemaQueries = map[string][]string{
	"sqlite": {
		`SELECT 'PRAGMA application_id = ' || application_id FROM pragma_application_id`,
		`SELECT 'PRAGMA user_version = ' || user_version FROM pragma_user_version`,
		`SELECT 'PRAGMA journal_mode = ' || journal_mode FROM pragma_journal_mode`,
		`SELECT 'PRAGMA auto_vacuum = ' || auto_vacuum FROM pragma_auto_vacuum`,
		`SELECT 'PRAGMA page_size = ' || page_size FROM pragma_page_size`,
		`SELECT type || ' ' || name || ' on ' || tbl_name || ': ' || coalesce(sql, 'automatic') FROM sqlite_master ORDER BY 1`,
	},
	"postgres": {
		`SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1`,
		`SELECT 'extension ' || extname FROM pg_extension ORDER BY 1`,
		`SELECT 'relation ' || c.oid::regclass || ', kind ' || c.relkind::text || coalesce(' ' || array_to_string(c.reloptions, ','), '')
			|| CASE WHEN c.relkind IN ('v', 'm') THEN ': ' || pg_get_viewdef(c.oid) ELSE '' END
			FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind <> 'i' ORDER BY 1`,
		`SELECT 'column ' || c.oid::regclass || ' ' || to_char(a.attnum, 'FM00') || ': ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
			|| CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
			|| CASE WHEN a.attcollation NOT IN (0, 'pg_catalog."default"'::regcollation) THEN ' COLLATE ' || a.attcollation::regcollation ELSE '' END
			|| CASE WHEN a.attidentity <> '' THEN ' IDENTITY ' || a.attidentity::text ELSE '' END
			|| CASE WHEN a.attgenerated <> '' THEN ' GENERATED ' || a.attgenerated::text ELSE '' END
			|| coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')
			FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
			WHERE c.relnamespace = 'public'::regnamespace AND c.relkind NOT IN ('i', 'S') AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1`,
		`SELECT 'constraint ' || conrelid::regclass || ' ' || conname || ': ' || pg_get_constraintdef(oid)
			FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n' AND conrelid <> 0 ORDER BY 1`,
		`SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`,
		`SELECT 'sequence ' || sequencename || ' ' || data_type || ' ' || start_value || ' ' || min_value || ' ' || max_value || ' ' || increment_by || ' ' || cache_size
			FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1`,
		`SELECT 'trigger ' || pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
			WHERE c.relnamespace = 'public'::regnamespace AND NOT t.tgisinternal ORDER BY 1`,
		`SELECT 'function ' || pg_get_functiondef(p.oid) FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prokind <> 'a'
			AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') ORDER BY 1`,
		`SELECT 'type ' || t.typname || ', kind ' || t.typtype::text FROM pg_type t
			WHERE t.typnamespace = 'public'::regnamespace AND t.typtype IN ('d', 'e', 'r') ORDER BY 1`,
	},
}

// TestSchema compares the schemas of new databases with the golden files.
func TestSchema(t *testing.T) {
	t.Parallel()
	drivers := map[string]string{"sqlite": "sqlite", "postgres": "pgx"}
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			database := engine.open(t)
			programtest.NewFolder(t).Serve("--database", database).Stop()
			db := shoptest.Must(sql.Open(drivers[engine.name], database))(t)
			defer db.Close()
			var dump strings.Builder
			for _, query := range schemaQueries[engine.name] {
				dumpRows(t, db, query, &dump)
			}
			check(t, "schema/"+engine.name+".txt", dump.String(), *update)
		})
	}
}

func dumpRows(t *testing.T, db *sql.DB, query string, dump *strings.Builder) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		shoptest.OK(t, rows.Scan(&text))
		fmt.Fprintln(dump, text)
	}
	shoptest.OK(t, rows.Err())
}
