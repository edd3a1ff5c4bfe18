package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"
)

// maxStatements is the maximum number of prepared statements that a connection caches. The library's own
// cache has no limit, and the texts of list queries vary with their filters.
const maxStatements = 200

// statement is a prepared statement. SQLite treats $2 as a name and assigns indexes to parameters in the
// order in which their names first appear. params maps numbers to these indexes. For example, params[1] is
// the index of $2.
type statement struct {
	*sqlite.Stmt
	params []int
}

// prepare returns the prepared statement for a query and caches the statement for later calls.
func (c *Conn) prepare(query string) (*statement, error) {
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

// bound returns the prepared statement for a query, with args bound to its parameters.
func (c *Conn) bound(ctx context.Context, query string, args []any) (*statement, error) {
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

// bind sets the parameter at an index to a value. If SQLite rejects the value, the next call of Step returns
// the error.
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
	case bool, float64, time.Time: // the default converter returns these values unchanged, so bind would never return
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

// run executes the statement to completion and discards all rows.
func (s *statement) run() error {
	defer s.Reset()
	for {
		if row, err := s.Step(); !row || err != nil {
			return err
		}
	}
}

func (c *Conn) finalize() {
	for _, prepared := range c.statements {
		prepared.Finalize()
	}
	clear(c.statements)
}
