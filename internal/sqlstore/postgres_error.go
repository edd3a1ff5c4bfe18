package sqlstore

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"animalstore/internal/shop"
)

// PostgreSQL's codes for what may pass by itself.
const (
	pgSerializationFailure = "40001"
	pgDeadlock             = "40P01"
	pgLockTimeout          = "55P03" // where the operator has set one
	pgUniqueViolation      = "23505"
	pgForeignKeyViolation  = "23503"
	pgReadOnly             = "25006" // after a failover
)

func pgCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// isConflict tells whether transactions got in each other's way.
func isConflict(err error) bool {
	code := pgCode(err)
	return code == pgSerializationFailure || code == pgDeadlock || code == pgLockTimeout || isConstraintViolation(err)
}

// isConstraintViolation tells whether a constraint stopped a transaction. Our rules never break one; but where two transactions do at
// once what only one may, PostgreSQL often sees the constraint before it sees the conflict.
func isConstraintViolation(err error) bool {
	code := pgCode(err)
	return code == pgUniqueViolation || code == pgForeignKeyViolation
}

// isAway tells whether the server said that it is going, full, or not the one that writes.
func isAway(err error) bool {
	code := pgCode(err)
	for _, class := range []string{"08", "53", "57", "58", pgReadOnly} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// isRefused tells whether no server let us in.
func isRefused(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}

// isFatal tells whether the server has ended the connection with what it said.
func isFatal(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.SeverityUnlocalized != "" && e.SeverityUnlocalized != "ERROR"
}

// isServerLost tells whether other connections to the same server are hardly of use either.
func isServerLost(err error) bool {
	code := pgCode(err)
	return code == pgReadOnly || isFatal(err) || code == "" && isBroken(err)
}

// isRetryable tells whether the same may work when it is tried again, on another connection perhaps. What is not known to be
// undone must not be.
func isRetryable(err error) bool {
	if errors.Is(err, errNotCommitted) {
		return true
	}
	if errors.Is(err, errUnknown) {
		return false
	}
	if e, own := errors.AsType[*shop.Error](err); own && e.Unwrap() == nil {
		return false
	}
	if pgCode(err) == "" {
		return isBroken(err)
	}
	return isConflict(err) || isAway(err) || isFatal(err) && !isRefused(err) // who is not let in now, is not in a second
}

// isBroken tells whether a connection broke, or could not be made.
func isBroken(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return isRefused(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || pgconn.SafeToRetry(err)
}

// postgresError says what a failure of the driver means for the caller.
func postgresError(err error) error {
	if _, own := errors.AsType[*shop.Error](err); own {
		return err
	}
	conflict := isConflict(err) && !isConstraintViolation(err)
	if conflict || isAway(err) || isFatal(err) || isRefused(err) || pgCode(err) == "" && isBroken(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return shop.UnavailableError(err)
	}
	return shop.InternalError(err)
}
