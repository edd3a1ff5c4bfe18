package sqlstore

import (
	"fmt"
	"math"
	"strings"

	"animalstore/internal/sqlstore/engine"
	"animalstore/internal/sqlstore/postgres"
)

// rowUpdate is an UPDATE of rows that are found by their ids. The first value of each row is its id.
type rowUpdate struct {
	one   string   // updates one row
	many  string   // updates any number of rows, with an array for each column
	types []string // the SQL types of the values of a row
}

func newRowUpdate(table, columns string, types []string) rowUpdate {
	places := make([]string, 0, len(types))
	for i := range types[1:] {
		places = append(places, fmt.Sprintf("$%d", i+2))
	}
	set := "UPDATE " + table + " SET (" + columns + ") = "
	return rowUpdate{
		one: set + "(" + strings.Join(places, ", ") + ") WHERE id = $1",
		many: set + "(new." + strings.ReplaceAll(columns, ", ", ", new.") + ") FROM (SELECT * FROM " + postgres.Unnest(types) +
			") AS new (id, " + columns + ") WHERE " + table + ".id = new.id",
		types: types,
	}
}

// updateEach executes a statement for each row, because a statement costs little in SQLite.
func updateEach(w engine.Writer, u rowUpdate, n int, appendRow func(args []any, row int) []any) error {
	for row := range n {
		if err := w.Exec(u.one, appendRow(nil, row)...); err != nil {
			return err
		}
	}
	return nil
}

// updateTogether executes one statement, because every statement costs a round trip to a PostgreSQL server.
func updateTogether(w engine.Writer, u rowUpdate, n int, appendRow func(args []any, row int) []any) error {
	if n == 0 {
		return nil
	}
	return w.Exec(u.many, postgres.Arrays(u.types, n, appendRow)...)
}

// countedPetIDs returns the next n ids that AUTOINCREMENT would assign.
func countedPetIDs(t *tx, n int) ([]int64, error) {
	// The table sqlite_sequence has no row for pets before the first pet is inserted.
	last, _, err := one(t, scanValue[int64], "SELECT seq FROM sqlite_sequence WHERE name = 'pets'")
	if err != nil {
		return nil, err
	}
	if last > math.MaxInt64-int64(n) {
		return nil, t.Fail(fmt.Errorf("there is no id left for another pet"))
	}
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = last + 1 + int64(i)
	}
	return ids, nil
}

// reservedPetIDs takes n ids from the sequence, in ascending order.
func reservedPetIDs(t *tx, n int) ([]int64, error) {
	return all(t, scanValue[int64],
		"SELECT id FROM (SELECT nextval('pets_id_seq') AS id FROM generate_series(1, CAST($1 AS BIGINT))) AS new ORDER BY id", n)
}
