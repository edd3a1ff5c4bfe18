package sqlstore

import (
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// pragma is a setting of a connection, with its value as SQLite reports it.
type pragma struct{ name, value string }

// set applies a pragma and reads it back: SQLite ignores what it does not know or cannot do.
func (c *sqliteConn) set(p pragma) error {
	got := ""
	keep := &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error { got = s.ColumnText(0); return nil }}
	for _, statement := range []string{"PRAGMA " + p.name + " = " + p.value, "PRAGMA " + p.name} {
		if err := sqlitex.ExecuteTransient(c.open, statement, keep); err != nil {
			return err
		}
	}
	if got != p.value {
		return fmt.Errorf("its %s is %q and cannot be changed to %q", strings.ReplaceAll(p.name, "_", " "), got, p.value)
	}
	return nil
}

// lockTimeout is how long a connection waits for a lock of another process. SQLite's locks are not fair: a
// command beside a busy service may have to wait for long, while the service must not keep its clients
// waiting.
func lockTimeout(o Options) time.Duration {
	if o.Exclusive {
		return 5 * time.Second
	}
	return time.Minute
}

// storeConn returns a connection to a store.
func storeConn(path string, o Options, more ...pragma) *sqliteConn {
	pragmas := []pragma{
		{"journal_mode", "wal"},
		{"synchronous", "2"}, // FULL: a commit survives a power cut
		{"foreign_keys", "1"},
	}
	return newSQLiteConn(fileURI(path), lockTimeout(o), append(pragmas, more...)...)
}
