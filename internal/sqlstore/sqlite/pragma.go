package sqlite

import (
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// pragma is a setting for a connection. Its value must be spelled as SQLite reports it.
type pragma struct{ name, value string }

// set applies a pragma and reads it back, because SQLite silently ignores unknown pragmas and values that it
// cannot apply.
func (c *Conn) set(p pragma) error {
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

// storeConn returns a connection to a file, with the pragmas that every such connection needs.
func storeConn(path string, exclusive bool, more ...pragma) *Conn {
	pragmas := []pragma{
		{"journal_mode", "wal"},
		{"synchronous", "2"}, // FULL, so that a commit survives a power failure
		{"foreign_keys", "1"},
		{"secure_delete", "1"}, // what is deleted is overwritten, because some of it is personal data
	}
	return newConn(fileURI(path), lockTimeout(exclusive), append(pragmas, more...)...)
}
