package storeadmin

import (
	"context"
	"regexp"
	"strings"

	"animalstore/internal/sqlstore"
)

var createdByMigrations = regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?(TABLE|INDEX|TRIGGER|VIEW) (\w+)`)

var droppedByMigrations = regexp.MustCompile(`(?m)^DROP (TABLE|INDEX|TRIGGER|VIEW) (\w+)`)

var renamedByMigrations = regexp.MustCompile(`(?m)^ALTER (TABLE|INDEX) (\w+) RENAME TO (\w+)`)

// checkServerSchema compares the tables, columns, views, indexes and triggers on the server with those that the
// migrations create. It also reports constraints that were never validated and indexes that could not be built, because
// rows may violate them.
func checkServerSchema(ctx context.Context, c *checker) (usable bool, err error) {
	steps, err := sqlstore.Migrations(sqlstore.Postgres)
	if err != nil {
		return false, err
	}
	want := map[string]string{}
	for _, step := range steps[:c.Version] {
		for _, renamed := range renamedByMigrations.FindAllStringSubmatch(step, -1) {
			kind := strings.ToLower(renamed[1])
			delete(want, kind+" "+renamed[2])
			want[kind+" "+renamed[3]] = ""
		}
		for _, dropped := range droppedByMigrations.FindAllStringSubmatch(step, -1) {
			delete(want, strings.ToLower(dropped[1])+" "+dropped[2])
		}
		for _, created := range createdByMigrations.FindAllStringSubmatch(step, -1) {
			want[strings.ToLower(created[1])+" "+created[2]] = ""
		}
	}
	if c.Version == len(steps) {
		kinds := map[kind]string{integer: "bigint", text: "text", blob: "bytea"}
		for _, table := range copiedTables {
			for _, column := range table.columns {
				want["table column "+table.name+"."+column.name] = kinds[column.kind]
			}
		}
	}
	got := map[string]string{}
	err = c.Each(ctx, `
		SELECT CASE relkind WHEN 'r' THEN 'table ' WHEN 'v' THEN 'view ' ELSE 'index ' END || relname, '' FROM pg_class
		WHERE relnamespace = CAST(current_schema() AS regnamespace) AND relkind IN ('r', 'v', 'i')
		UNION ALL
		SELECT 'trigger ' || tgname, '' FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
		WHERE relnamespace = CAST(current_schema() AS regnamespace) AND NOT tgisinternal AND tgenabled <> 'D'
		UNION ALL
		SELECT 'table column ' || table_name || '.' || column_name, data_type FROM information_schema.columns
		WHERE table_schema = current_schema()`, func(scan sqlstore.Scanner) error {
		var name, kind string
		err := scan(&name, &kind)
		if _, wanted := want[name]; wanted { // skip objects that do not belong to the store
			got[name] = kind
		}
		return err
	})
	if err != nil {
		return false, err
	}
	usable = c.compareSchemas(want, got)
	return usable, c.Each(ctx, `
		SELECT 'index ' || CAST(indexrelid AS regclass) FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
		WHERE relnamespace = CAST(current_schema() AS regnamespace) AND NOT indisvalid
		UNION ALL
		SELECT 'constraint ' || conname FROM pg_constraint WHERE connamespace = CAST(current_schema() AS regnamespace) AND NOT convalidated`,
		func(scan sqlstore.Scanner) error {
			var name string
			err := scan(&name)
			c.finding("schema: the %s is not valid: rows may violate it", name)
			return err
		})
}
