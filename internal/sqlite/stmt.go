package sqlite

import (
	"fmt"
	"math"
	"strconv"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Stmt is a prepared statement. Its parameters are $1, $2 and so on, or ?.
type Stmt struct {
	conn   *Conn
	handle uintptr
	index  []int32 // SQLite's, of each parameter
	large  bool    // something long is bound
}

// Kind is of what kind a value is.
type Kind int32

// The kinds of values.
const (
	Integer = Kind(sqlite3.SQLITE_INTEGER)
	Real    = Kind(sqlite3.SQLITE_FLOAT)
	Text    = Kind(sqlite3.SQLITE_TEXT)
	Blob    = Kind(sqlite3.SQLITE_BLOB)
	Null    = Kind(sqlite3.SQLITE_NULL)
)

const (
	// maxText is how long a text may be, in bytes; SQLite's own limit is lower.
	maxText = math.MaxInt32 - 1
	// keptText is how long a text may be whose room is kept for the next one: to make room for each would take longer.
	keptText = 4 << 10
)

// Prepare prepares a statement.
func (c *Conn) Prepare(query string) (*Stmt, error) {
	at, err := put(c, query)
	if err != nil {
		return nil, err
	}
	s := &Stmt{conn: c}
	s.handle, err = c.handle(func(into uintptr) int32 {
		return sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, at, int32(len(query)+1), sqlite3.SQLITE_PREPARE_PERSISTENT, into, 0)
	})
	if err != nil {
		return nil, err
	}
	if s.handle == 0 {
		return nil, fmt.Errorf("there is no statement in %q", query)
	}
	if err := s.number(); err != nil {
		s.Close()
		return nil, fmt.Errorf("%w in %q", err, query)
	}
	return s, nil
}

// number finds the parameters. To SQLite, $2 is a name, and the parameter is the first one where that stands first.
func (s *Stmt) number() error {
	s.index = make([]int32, sqlite3.Xsqlite3_bind_parameter_count(s.conn.tls, s.handle))
	for i := range s.index {
		place := i + 1
		if name := libc.GoString(sqlite3.Xsqlite3_bind_parameter_name(s.conn.tls, s.handle, int32(i+1))); name != "" {
			var err error
			if place, err = strconv.Atoi(name[1:]); err != nil || place < 1 || place > len(s.index) || s.index[place-1] != 0 {
				return fmt.Errorf("there is no parameter %s", name)
			}
		}
		s.index[place-1] = int32(i + 1)
	}
	return nil
}

// Close ends the statement.
func (s *Stmt) Close() { sqlite3.Xsqlite3_finalize(s.conn.tls, s.handle) }

// Parameters is how many values the statement needs.
func (s *Stmt) Parameters() int { return len(s.index) }

// BindInt64 gives a parameter, counted from 1, its value, as all that follow do. What is bound stays so for the next run.
func (s *Stmt) BindInt64(parameter int, value int64) error {
	return s.bound(sqlite3.Xsqlite3_bind_int64(s.conn.tls, s.handle, s.index[parameter-1], value))
}

func (s *Stmt) BindNull(parameter int) error {
	return s.bound(sqlite3.Xsqlite3_bind_null(s.conn.tls, s.handle, s.index[parameter-1]))
}

func (s *Stmt) BindText(parameter int, value string) error {
	return bind(s, parameter, value, sqlite3.Xsqlite3_bind_text)
}

// BindTextBytes binds a text, too.
func (s *Stmt) BindTextBytes(parameter int, value []byte) error {
	return bind(s, parameter, value, sqlite3.Xsqlite3_bind_text)
}

func (s *Stmt) BindBlob(parameter int, value []byte) error {
	return bind(s, parameter, value, sqlite3.Xsqlite3_bind_blob)
}

// bind has SQLite make a copy of a value.
func bind[T string | []byte](s *Stmt, parameter int, value T,
	with func(tls *libc.TLS, stmt uintptr, index int32, at uintptr, length int32, free uintptr) int32,
) error {
	if len(value) > maxText {
		return s.conn.failure(sqlite3.SQLITE_TOOBIG, 0)
	}
	s.large = s.large || len(value) > keptText
	at, err := put(s.conn, value)
	if err != nil {
		return err
	}
	return s.bound(with(s.conn.tls, s.handle, s.index[parameter-1], at, int32(len(value)), sqlite3.SQLITE_TRANSIENT))
}

func (s *Stmt) bound(code int32) error {
	if code != sqlite3.SQLITE_OK {
		return s.conn.failure(code, s.conn.db)
	}
	return nil
}

// Run runs the statement to its end. What it finds is not looked at.
func (s *Stmt) Run() error {
	defer s.Reset()
	for {
		if row, err := s.Step(); !row || err != nil {
			return err
		}
	}
}

// Step goes on to the next row and tells whether there is one. Where there is none or it fails, the statement wants a Reset.
func (s *Stmt) Step() (row bool, err error) {
	switch code := sqlite3.Xsqlite3_step(s.conn.tls, s.handle); code {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	default:
		return false, s.conn.failure(code, s.conn.db)
	}
}

// Reset makes the statement ready to run again.
func (s *Stmt) Reset() {
	sqlite3.Xsqlite3_reset(s.conn.tls, s.handle) // it says again what the last step said
	if s.large {
		sqlite3.Xsqlite3_clear_bindings(s.conn.tls, s.handle)
		s.conn.empty()
		s.large = false
	}
}

// Columns is how many there are in a row.
func (s *Stmt) Columns() int { return int(sqlite3.Xsqlite3_column_count(s.conn.tls, s.handle)) }

// Kind tells of what kind the value in a column, counted from 0, is in the row at hand.
func (s *Stmt) Kind(column int) Kind {
	return Kind(sqlite3.Xsqlite3_column_type(s.conn.tls, s.handle, int32(column)))
}

// Int64 returns an integer.
func (s *Stmt) Int64(column int) int64 {
	return sqlite3.Xsqlite3_column_int64(s.conn.tls, s.handle, int32(column))
}

// Float64 returns a number.
func (s *Stmt) Float64(column int) float64 {
	return sqlite3.Xsqlite3_column_double(s.conn.tls, s.handle, int32(column))
}

// Bytes returns a text or a blob. It is SQLite's, until the next step.
func (s *Stmt) Bytes(column int) []byte {
	at := sqlite3.Xsqlite3_column_blob(s.conn.tls, s.handle, int32(column))
	if at == 0 {
		return nil
	}
	return libc.GoBytes(at, int(sqlite3.Xsqlite3_column_bytes(s.conn.tls, s.handle, int32(column))))
}
