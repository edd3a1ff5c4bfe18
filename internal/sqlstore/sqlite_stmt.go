package sqlstore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"
)

// maxStatements bounds the prepared statements of a connection: the texts of list queries vary with their
// filters, and the library's own cache has no bound.
const maxStatements = 200

// statement is a prepared statement. To SQLite, $2 is a name, and its index is where that name first appears
// in the text: params[1] is the index of $2.
type statement struct {
	*sqlite.Stmt
	params []int
}

// prepare returns the statement of a query, which it keeps for the next time.
func (c *sqliteConn) prepare(query string) (*statement, error) {
	if prepared, ok := c.statements[query]; ok {
		return prepared, nil
	}
	if err := c.connect(); err != nil {
		return nil, err
	}
	if len(c.statements) >= maxStatements {
		c.finalize()
	}
	stmt, err := c.open.Prepare(query)
	if err != nil {
		return nil, err
	}
	prepared := &statement{stmt, make([]int, stmt.BindParamCount())}
	for i := range prepared.params {
		number := i + 1
		if name := stmt.BindParamName(number); name != "" {
			number, err = strconv.Atoi(name[1:])
		}
		if err != nil || number < 1 || number > len(prepared.params) || prepared.params[number-1] != 0 {
			stmt.Finalize()
			return nil, fmt.Errorf("the parameters of %q are not $1, $2, and so on", query)
		}
		prepared.params[number-1] = i + 1
	}
	c.statements[query] = prepared
	return prepared, nil
}

// bound returns a statement with its values.
func (c *sqliteConn) bound(ctx context.Context, query string, args []any) (*statement, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	prepared, err := c.prepare(query)
	if err != nil {
		return nil, err
	}
	if n := len(prepared.params); n != len(args) {
		return nil, fmt.Errorf("%d values for %d parameters", len(args), n)
	}
	for i, arg := range args {
		if err := prepared.bind(prepared.params[i], arg); err != nil {
			return nil, err
		}
	}
	return prepared, nil
}

// bind sets a parameter. Step returns what SQLite says about the value.
func (s *statement) bind(index int, value any) error {
	switch value := value.(type) {
	case int64:
		s.BindInt64(index, value)
	case string:
		s.BindText(index, value)
	case []byte:
		s.BindBytes(index, value)
	case nil:
		s.BindNull(index)
	case bool, float64, time.Time: // DefaultParameterConverter returns these as they are
		return fmt.Errorf("no column stores a %T", value)
	default:
		plain, err := driver.DefaultParameterConverter.ConvertValue(value)
		if err != nil {
			return err
		}
		return s.bind(index, plain)
	}
	return nil
}

// run executes the statement to completion and discards its rows.
func (s *statement) run() error {
	defer s.Reset()
	for {
		if row, err := s.Step(); !row || err != nil {
			return err
		}
	}
}

func (c *sqliteConn) finalize() {
	for _, prepared := range c.statements {
		prepared.Finalize()
	}
	clear(c.statements)
}
