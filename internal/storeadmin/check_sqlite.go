package storeadmin

import (
	"context"
	"database/sql"
	"fmt"

	"animalstore/internal/sqlstore"
)

// sqliteSchema returns the CREATE statements in a database, keyed by type and name ("table pets").
func sqliteSchema(ctx context.Context, c *sqlstore.Conn) (map[string]string, error) {
	made := map[string]string{}
	err := c.Each(ctx, "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'", func(scan sqlstore.Scanner) error {
		var name string
		var statement sql.NullString
		err := scan(&name, &statement)
		made[name] = statement.String
		return err
	})
	return made, err
}

// checkSQLiteSchema compares the schema with that of a new database to which the same migrations were applied.
func checkSQLiteSchema(ctx context.Context, c *checker) (usable bool, err error) {
	fresh, err := sqlstore.OpenEmpty(ctx, c.Version)
	if err != nil {
		return false, err
	}
	defer fresh.Close()
	want, err := sqliteSchema(ctx, fresh)
	if err != nil {
		return false, err
	}
	got, err := sqliteSchema(ctx, c.Conn)
	if err != nil {
		return false, c.tolerateDamage(err)
	}
	return c.compareSchemas(want, got), nil
}

// checkSQLiteIntegrity reports the problems found by SQLite's integrity check and its foreign key check.
func checkSQLiteIntegrity(ctx context.Context, c *checker) error {
	err := c.Each(ctx, "PRAGMA integrity_check(100)", func(scan sqlstore.Scanner) error {
		var found string
		if err := scan(&found); err != nil {
			return err
		}
		if found != "ok" {
			c.damage("integrity: %s", found)
		}
		return nil
	})
	if err := c.tolerateDamage(err); err != nil {
		return err
	}
	few := limitedFindings{checker: c}
	err = c.Each(ctx, "PRAGMA foreign_key_check", func(scan sqlstore.Scanner) error {
		var table, parent string
		var row sql.NullInt64
		var key int
		if err := scan(&table, &row, &parent, &key); err != nil {
			return err
		}
		name := table
		if row.Valid {
			name = fmt.Sprintf("%s %d", table, row.Int64)
		}
		few.finding("%s: it refers to a row of %s that does not exist", name, parent)
		return nil
	})
	return c.tolerateDamage(err)
}
