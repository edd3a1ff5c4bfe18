package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"animalstore/internal/sqlstore/engine"
)

// SQLSTATE codes for failures after which the same transaction may succeed if it runs again.
const (
	pgSerializationFailure = "40001"
	pgDeadlock             = "40P01"
	pgLockTimeout          = "55P03" // raised if a transaction has waited too long for a lock
	pgUniqueViolation      = "23505"
	pgForeignKeyViolation  = "23503"
	pgReadOnly             = "25006" // raised if a failover has made the server read-only
	pgQueryCanceled        = "57014" // raised if this program, a timeout or an operator has cancelled a statement
	pgDiskFull             = "53100"
)

// errReadOnly is the error for a server that would refuse writes.
var errReadOnly = errors.New("the server is read-only")

// pgCode returns the SQLSTATE code of an error reported by the server, or "" if err is not such an error.
func pgCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// isConflict reports whether the server rolled back a transaction because of a concurrent transaction.
func isConflict(err error) bool {
	code := pgCode(err)
	return code == pgSerializationFailure || code == pgDeadlock || isLockTimeout(err) || isConstraintViolation(err)
}

// isRolledBack reports whether err, which a COMMIT has returned, means that the server has certainly rolled the
// transaction back: because of a conflict, a full disk, invalid data (class 22) or a violated constraint (class 23).
func isRolledBack(err error) bool {
	code := pgCode(err)
	return isConflict(err) || isDiskFull(err) || strings.HasPrefix(code, "22") || strings.HasPrefix(code, "23")
}

// isDiskFull reports whether a table or an index could not grow because the disk is full. If the disk of the write-ahead
// log is full, the server stops, and isDiskFull returns false.
func isDiskFull(err error) bool { return pgCode(err) == pgDiskFull && !isFatal(err) }

// isLockTimeout reports whether a transaction was rolled back because it had waited too long for a lock.
func isLockTimeout(err error) bool { return pgCode(err) == pgLockTimeout }

// isLostRace reports whether a transaction was rolled back because a concurrent transaction was faster. After a lock
// timeout, the next attempt may have to wait for the lock again. After a lost race, it has nothing to wait for.
func isLostRace(err error) bool { return isConflict(err) && !isLockTimeout(err) }

// isConstraintViolation reports whether a transaction violated a unique or foreign key constraint. The caller's rules
// prevent such violations. But if two concurrent transactions make a change that only one of them may make,
// PostgreSQL often checks the constraint before it detects the conflict.
func isConstraintViolation(err error) bool {
	code := pgCode(err)
	return code == pgUniqueViolation || code == pgForeignKeyViolation
}

// isServerUnavailable reports whether the server said that it cannot serve the request now: it has lost a connection
// (class 08), is out of resources (53), is shutting down or has cancelled the statement (57), fails (58) or is read-only.
func isServerUnavailable(err error) bool {
	code := pgCode(err)
	for _, class := range []string{"08", "53", "57", "58", pgReadOnly} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// isConnectError reports whether a connection could not be opened: no server could be reached in time, the login was
// rejected, or no server was suitable.
func isConnectError(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok || errors.Is(err, errNoConnection)
}

// isFatal reports whether the server closed the connection after it reported err.
func isFatal(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.SeverityUnlocalized != "" && e.SeverityUnlocalized != "ERROR"
}

// isSessionTimeout reports whether the server closed only this connection, because its session was idle or its
// transaction was open for too long.
func isSessionTimeout(err error) bool {
	switch pgCode(err) {
	case "25P03", "25P04", "57P05": // idle in a transaction, transaction too long, idle session
		return true
	}
	return false
}

// isServerLost reports whether other connections to the same server are probably broken as well. It returns false if
// the server has cancelled the statement or ended only this session because of a timeout, or if the statement was never
// sent because its context had already ended.
func isServerLost(err error) bool {
	code := pgCode(err)
	return code == pgReadOnly || isFatal(err) && !isSessionTimeout(err) || code == "" && isBroken(err) && !isUnsent(err)
}

// isUnsent reports whether a statement was not sent to the server because its context had already ended.
func isUnsent(err error) bool {
	return pgconn.SafeToRetry(err) && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
}

// interruptedError adds the context's error to err if the context has ended and err is the server's report that it
// has cancelled a statement.
func interruptedError(ctx context.Context, err error) error {
	if ctx.Err() == nil || pgCode(err) != pgQueryCanceled {
		return err
	}
	return engine.EndedError(fmt.Errorf("%w: %w", ctx.Err(), err))
}

// isRetryable reports whether a read or write may succeed if it runs again, possibly on another connection. If a write
// may have been committed, it is never retryable.
func isRetryable(err error) bool {
	if errors.Is(err, errNotCommitted) {
		return true
	}
	if errors.Is(err, errUnknownOutcome) {
		return false
	}
	if isUnsuitable(err) || isLostTimeline(err) || isDiskFull(err) {
		return false // it would fail again
	}
	if pgCode(err) == "" {
		return isBroken(err)
	}
	// A rejected login is not retried, because it would be rejected again.
	return isConflict(err) || isServerUnavailable(err) || isFatal(err) && !isConnectError(err)
}

// isBroken reports whether a connection was lost or could not be opened.
func isBroken(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return isConnectError(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || pgconn.SafeToRetry(err)
}

// convertError converts an error returned by pgx to an *engine.Error. The result is unavailable if a later request may
// succeed, and internal otherwise.
func convertError(err error) error {
	if _, own := errors.AsType[*engine.Error](err); own {
		return err
	}
	if !isConnectError(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return engine.EndedError(err)
	}
	conflict := isConflict(err) && !isConstraintViolation(err)
	if conflict || isLostTimeline(err) || errors.Is(err, errReadOnly) || isServerUnavailable(err) || isFatal(err) || isConnectError(err) || pgCode(err) == "" && isBroken(err) {
		return unavailableError(err)
	}
	return &engine.Error{Kind: classify(err), Class: engine.Internal, Err: err}
}

// classify returns the cause of an error.
func classify(err error) engine.Kind {
	switch code := pgCode(err); {
	case errors.Is(err, errUnknownOutcome):
		return engine.UnknownOutcome
	case errors.Is(err, errReadOnly), code == pgReadOnly:
		return engine.ReadOnly
	case isUnsuitable(err):
		return engine.Unsuitable
	case isLostTimeline(err):
		return engine.LostHistory
	case code == pgQueryCanceled:
		return engine.TimedOut
	case code == pgDiskFull:
		return engine.DiskFull
	case strings.HasPrefix(code, "53"):
		return engine.Busy
	case strings.HasPrefix(code, "58"):
		return engine.IOFailed
	case strings.HasPrefix(code, "XX"):
		return engine.Corrupt
	case isConflict(err):
		return engine.Conflict
	case isServerUnavailable(err), isFatal(err), isConnectError(err):
		return engine.Unreachable
	case errors.Is(err, context.DeadlineExceeded):
		return engine.TimedOut
	case isBroken(err):
		return engine.Unreachable
	}
	return engine.Other
}

// openError explains why a server could not be opened. If the server was refused, openError leaves out the details
// that pgx adds for each connection attempt, so that the error is one clear line.
func openError(err error) error {
	if e, ok := errors.AsType[*unsuitableError](err); ok {
		err = e
	}
	if e, ok := errors.AsType[*timelineError](err); ok {
		err = e
	}
	return fmt.Errorf("cannot open the database: %w", err)
}

// isUnsupported reports whether a server that speaks PostgreSQL's protocol lacks a function of PostgreSQL, or
// does not permit its use.
func isUnsupported(err error) bool {
	switch pgCode(err) {
	case "42883", "42704", "42501", "0A000": // undefined function or object, not permitted, not supported
		return true
	}
	return false
}
