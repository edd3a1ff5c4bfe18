package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// oldestPostgres is the oldest major version of PostgreSQL that the store supports.
const oldestPostgres = 13

// unsuitableError is the error for a server that cannot be used until an operator changes it. Its text says
// what is wrong and how to fix it.
type unsuitableError struct{ problem string }

func (e *unsuitableError) Error() string { return e.problem }

// isUnsuitable reports whether a server was refused because of its version, encoding or settings.
func isUnsuitable(err error) bool {
	_, ok := errors.AsType[*unsuitableError](err)
	return ok
}

// checkServer returns an error if the server is too old or if the database does not store text as UTF-8. The server
// sent both facts when the connection was opened, so the check takes no round trip.
func checkServer(conn *pgconn.PgConn) error {
	version, encoding := conn.ParameterStatus("server_version"), conn.ParameterStatus("server_encoding")
	if major, ok := majorVersion(version); ok && major < oldestPostgres {
		return &unsuitableError{fmt.Sprintf("the server is PostgreSQL %s, but animalstore needs version %d or newer; upgrade the server",
			version, oldestPostgres)}
	}
	if encoding != "" && encoding != "UTF8" {
		return &unsuitableError{fmt.Sprintf("the encoding of the database is %s, but animalstore needs UTF8; "+
			"create a database with TEMPLATE template0 ENCODING 'UTF8' and use that", encoding)}
	}
	return nil
}

// majorVersion returns the number at the beginning of a server's version, for example 17 for "17.2 (Debian
// 17.2-1)". ok is false if there is none.
func majorVersion(version string) (major int, ok bool) {
	digits := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(version)
	}
	major, err := strconv.Atoi(version[:digits])
	return major, err == nil
}

// synchronousCommitSQL selects the value of synchronous_commit that applies to this session. It first sets the value to on, unless
// it is remote_apply, which is even safer. A value that a session has set itself stays in effect when the server's
// configuration is reloaded.
//
// %d is the process id that the server sent when the connection was opened. If another process executes the statement,
// there is a pooler, which may use a different session for every transaction. In this case, the statement sets nothing.
const synchronousCommitSQL = `
	SELECT CASE WHEN value IS NULL OR pg_backend_pid() <> %d THEN value
		ELSE set_config('synchronous_commit', CASE value WHEN 'remote_apply' THEN value ELSE 'on' END, false) END
	FROM (SELECT current_setting('synchronous_commit', true) AS value) AS setting`

// requireDurableCommits makes sure that the server confirms a COMMIT only after the transaction is on disk
// and, if there is a synchronous standby, on the disk of that standby. It fails if the setting is too weak and
// a pooler prevents the session from changing it.
func requireDurableCommits(ctx context.Context, conn *pgconn.PgConn) error {
	value, err := selectText(ctx, conn, fmt.Sprintf(synchronousCommitSQL, conn.PID()))
	switch {
	case isUnsupported(err):
		return nil
	case err != nil:
		return err
	case value == "", value == "on", value == "remote_apply":
		return nil
	}
	return &unsuitableError{fmt.Sprintf("synchronous_commit is %s, so a crash could lose acknowledged writes, and behind a "+
		"connection pooler animalstore cannot change it for its sessions; run ALTER ROLE … SET synchronous_commit = on "+
		"and reconnect the pooler", value)}
}

// selectText returns the first column of the first row that a query selects. It returns "" if the value is NULL.
func selectText(ctx context.Context, conn *pgconn.PgConn, query string) (string, error) {
	results, err := conn.Exec(ctx, query).ReadAll()
	if err != nil {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}
