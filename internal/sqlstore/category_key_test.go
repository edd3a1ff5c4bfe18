package sqlstore

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/pgtest"
	"animalstore/internal/shop"
)

// wantNamed checks which categories the store finds by the given name. It checks this twice: before and after all names
// are indexed.
func wantNamed(t *testing.T, store *Store, name, want string) {
	t.Helper()
	for _, indexed := range []bool{false, true} {
		read(t, store, func(tx shop.ReadTx) error {
			found, err := tx.CategoriesNamed([]string{name}, 2)
			if got := fmt.Sprint(found); got != want {
				t.Errorf("%q finds %s, want %s; indexed: %v", name, got, want, indexed)
			}
			return err
		})
		indexAll(t, store)
		read(t, store, func(tx shop.ReadTx) error {
			_, more, err := tx.NextIndexBatch()
			if more {
				t.Error("IndexSearch has left something to index")
			}
			return err
		})
	}
}

// Categories in a store from an earlier version are found by their names, although the names have no keys at first. A
// changed name has its key at once.
func TestNamesOfAnEarlierVersionAreFound(t *testing.T) {
	t.Parallel()
	const insert = "INSERT INTO categories (id, name) VALUES (1, 'Žofky'), (2, 'Dogs'), (3, ' žofky '), (4, NULL)"
	for engine, version := range map[string]int{SQLite: 14, Postgres: 12} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			steps, err := Migrations(engine)
			must(t, err)
			database := filepath.Join(t.TempDir(), "old.db")
			if engine == Postgres {
				database = pgtest.Shared(t).NewDatabase(t)
				migrateTo(t, database, steps[:version])
				pgtest.Connect(t, database).Do(insert)
			} else {
				execFile(t, database, strings.Join(append(steps[:version:version], insert), ";\n")+
					fmt.Sprintf("; PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version))
			}
			store := open(t, database, Options{Exclusive: true})
			wantNamed(t, store, "ŽOFKY", "[{1 Žofky} {3  žofky }]")
			wantNamed(t, store, "zofky", "[]")
			write(t, store, func(tx shop.WriteTx) error {
				return tx.UpdateCategory(shop.Category{ID: 1, Name: "Žofky"}, shop.Category{ID: 1, Name: "Cats"})
			})
			read(t, store, func(tx shop.ReadTx) error {
				if unkeyed := selected[int64](t, tx, "SELECT count(*) FROM categories WHERE "+isUnkeyed); unkeyed != 0 {
					t.Errorf("%d changed names have no key", unkeyed)
				}
				return nil
			})
			wantNamed(t, store, "cats", "[{1 Cats}]")
			wantNamed(t, store, "ŽOFKY", "[{3  žofky }]")
		})
	}
}

// A transaction that has added a pet to a category does not delay the job that adds the key of the category's name.
func TestKeysAreAddedToCategoriesThatGetPets(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	store, db := open(t, database, Options{}), pgtest.Connect(t, database)
	db.Do("INSERT INTO categories (id, name) VALUES (1, 'Dogs')")
	other, err := db.Begin()
	must(t, err)
	defer other.Rollback()
	_, err = other.Exec("INSERT INTO pets (name, category_id) VALUES ('Rex', 1)")
	must(t, err)
	indexAll(t, store)
	if key := pgtest.Value[string](db, "SELECT coalesce(name_key, '') FROM categories"); key != "DOGS" {
		t.Errorf("the key is %q, want DOGS", key)
	}
}

// namedQueries returns the queries that find categories by their names.
func namedQueries(d *dialect) map[string]pageQuery {
	places, args := "(CAST($ AS TEXT))"+strings.Repeat(", (CAST($ AS TEXT))", 49), slices.Repeat([]any{"name 7"}, 50)
	return map[string]pageQuery{
		"one name":   {numbered(d.categoriesWith("name", "(CAST($ AS TEXT))", 6)), args[:1]},
		"many names": {numbered(d.categoriesWith("name", places, 6)), args},
		"one key":    {numbered(d.categoriesWith("name_key", "(CAST($ AS TEXT))", 6)), args[:1]},
		"many keys":  {numbered(d.categoriesWith("name_key", places, 6)), args},
		"unkeyed":    {d.selectUnkeyed(categoryColumns), nil},
		"first":      {d.selectUnkeyed("id") + " ORDER BY id LIMIT 1", nil},
		"batch":      {d.selectUnkeyed(categoryColumns) + " ORDER BY id LIMIT 2000", nil},
		"count":      {d.selectUnkeyed("count(*)"), nil},
	}
}

// Finding categories by their names reads neither all categories nor all of those with the same name.
func TestNamedCategoriesAreFoundInAnIndex(t *testing.T) {
	t.Parallel()
	store := openNew(t)
	for name, query := range namedQueries(sqliteDialect(nil)) {
		plan := explain(t, store, query)
		for line := range strings.Lines(plan) {
			found := strings.Contains(line, "(name>? AND name<?)") || strings.Contains(line, "(name_key>? AND name_key<?)") || strings.Contains(line, "categories_unkeyed") ||
				strings.Contains(line, "c USING INTEGER PRIMARY KEY (rowid=?)")
			if (strings.Contains(line, " x ") || strings.Contains(line, " c ") || strings.Contains(line, "categories")) && !found ||
				strings.Contains(line, "ORDER BY") {
				t.Errorf("%s: the query reads too much:\n%s", name, plan)
			}
		}
	}
}

func TestNamedCategoriesOnPostgresAreFoundInAnIndex(t *testing.T) {
	t.Parallel()
	db := pgtest.Connect(t, newDatabase(t))
	db.Do(`INSERT INTO categories (id, name, name_key) SELECT n, 'name ' || n, 'NAME ' || n FROM generate_series(1, 20000) AS n`,
		`INSERT INTO categories (id, name, name_key) SELECT n, 'name 7', 'name 7' FROM generate_series(20001, 40000) AS n`,
		`INSERT INTO categories (id) SELECT n FROM generate_series(40001, 60000) AS n`)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			db.Do("ANALYZE")
		}
		for name, query := range namedQueries(postgresDialect(nil)) {
			plan := strings.Join(pgtest.Column[string](db, "EXPLAIN ANALYZE "+query.text, query.args...), "\n")
			if strings.Contains(plan, "Seq Scan on categories") || strings.Contains(plan, "Removed by") {
				t.Errorf("%s, analyzed: %v: the query reads too much:\n%s", name, analyzed, plan)
			}
		}
	}
}
