// Package sqlite speaks to SQLite directly, for those who ask it many thousand times a second. What they read and write goes
// from hand to hand: no value is put into a box on its way, and no lock is taken for each of them, as database/sql and its
// driver have to. docs/decisions/020-straight-to-sqlite.md says what that is worth.
package sqlite

import (
	"fmt"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Conn is a connection to a database. One goroutine uses it at a time; Interrupt alone may be called beside it.
type Conn struct {
	tls  *libc.TLS
	db   uintptr
	room uintptr // for what SQLite is given to read: it does not know where Go moves things
	size int     // of the room
}

// Open opens a database, given by its URI, and applies settings, each what would stand behind PRAGMA.
func Open(uri string, settings ...string) (*Conn, error) {
	c := &Conn{tls: libc.NewTLS()}
	if err := c.open(uri, settings); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) open(uri string, settings []string) error {
	at, err := put(c, uri)
	if err != nil {
		return err
	}
	// No lock of its own: whoever uses a connection has it alone.
	const flags = sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_CREATE | sqlite3.SQLITE_OPEN_URI |
		sqlite3.SQLITE_OPEN_NOMUTEX | sqlite3.SQLITE_OPEN_EXRESCODE
	if c.db, err = c.handle(func(into uintptr) int32 { return sqlite3.Xsqlite3_open_v2(c.tls, at, into, flags, 0) }); err != nil {
		return err
	}
	for _, setting := range settings {
		if err := c.run("PRAGMA " + setting); err != nil {
			return err
		}
	}
	return nil
}

// run runs a statement once.
func (c *Conn) run(query string) error {
	s, err := c.Prepare(query)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Run()
}

// Close closes the connection, whose statements must be closed before.
func (c *Conn) Close() {
	if c.db != 0 {
		sqlite3.Xsqlite3_close_v2(c.tls, c.db)
	}
	c.empty()
	c.tls.Close()
}

// InTransaction tells whether a transaction is open.
func (c *Conn) InTransaction() bool { return sqlite3.Xsqlite3_get_autocommit(c.tls, c.db) == 0 }

// Interrupt makes the statement that is running fail. It does nothing where none is.
func (c *Conn) Interrupt() { sqlite3.Xsqlite3_interrupt(nil, c.db) }

// handle returns what a function of SQLite makes and leaves at an address. It is made also by some that fail, to say why.
func (c *Conn) handle(call func(into uintptr) int32) (uintptr, error) {
	into := sqlite3.Xsqlite3_malloc(c.tls, 8)
	if into == 0 {
		return 0, c.failure(sqlite3.SQLITE_NOMEM, 0)
	}
	defer sqlite3.Xsqlite3_free(c.tls, into)
	clear(libc.GoBytes(into, 8))
	code := call(into)
	made := libc.AtomicLoadPUintptr(into)
	if code != sqlite3.SQLITE_OK {
		if c.db != 0 {
			return 0, c.failure(code, c.db)
		}
		err := c.failure(code, made)
		sqlite3.Xsqlite3_close_v2(c.tls, made)
		return 0, err
	}
	return made, nil
}

// put writes a text where SQLite can read it, until the next one is put there.
func put[T string | []byte](c *Conn, text T) (uintptr, error) {
	if len(text) >= c.size {
		c.empty()
		size := max(keptText, len(text)) + 1
		if c.room = sqlite3.Xsqlite3_malloc(c.tls, int32(size)); c.room == 0 {
			return 0, c.failure(sqlite3.SQLITE_NOMEM, 0)
		}
		c.size = size
	}
	room := libc.GoBytes(c.room, len(text)+1)
	room[copy(room, text)] = 0
	return c.room, nil
}

// empty gives the room up.
func (c *Conn) empty() {
	sqlite3.Xsqlite3_free(c.tls, c.room)
	c.room, c.size = 0, 0
}

// Error is a failure that SQLite reports.
type Error struct {
	code int
	text string
}

func (e *Error) Error() string { return e.text }

// Code is SQLite's extended result code.
func (e *Error) Code() int { return e.code }

// failure says what a result code means, in the words of the database where there is one.
func (c *Conn) failure(code int32, db uintptr) error {
	text := libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, code))
	if db != 0 {
		if more := libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, db)); more != text {
			text += ": " + more
		}
	}
	return &Error{int(code), fmt.Sprintf("%s (%d)", text, code)}
}
