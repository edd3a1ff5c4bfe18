package sqlstore

import (
	"context"
	"errors"
	"strings"

	"zombiezen.com/go/sqlite"

	"animalstore/internal/shop"
)

// errorKind is the cause of a database error. It is used as the value of a metric label.
type errorKind string

const (
	readOnly       errorKind = "read_only"
	diskFull       errorKind = "disk_full"
	ioFailed       errorKind = "io"
	corrupt        errorKind = "corrupt"
	replaced       errorKind = "replaced"
	busy           errorKind = "busy"
	conflict       errorKind = "conflict"
	unreachable    errorKind = "away"
	unsuitable     errorKind = "unsuitable"
	lostHistory    errorKind = "timeline"
	timedOut       errorKind = "timeout"
	unknownOutcome errorKind = "unknown_outcome"
	otherError     errorKind = "other"
)

// endedError converts the error of a read or write whose context has ended to a shop error. If the deadline has passed,
// the error says so. If the client has gone away, no explanation is needed.
func endedError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return shop.TimeoutError(err)
	}
	return shop.UnavailableError(err)
}

// classify returns the cause of an error returned by either engine.
func classify(err error) errorKind {
	switch {
	case errors.Is(err, errUnknown):
		return unknownOutcome
	case errors.Is(err, errFileReplaced):
		return replaced
	case errors.Is(err, errReadOnly):
		return readOnly
	case isUnsuitable(err):
		return unsuitable
	case isLostTimeline(err):
		return lostHistory
	}
	switch primaryCode(err) {
	case sqlite.ResultReadOnly:
		return readOnly
	case sqlite.ResultFull:
		return diskFull
	case sqlite.ResultIOErr, sqlite.ResultCantOpen:
		return ioFailed
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return corrupt
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol, sqlite.ResultNoMem:
		return busy
	}
	switch code := pgCode(err); {
	case code == pgReadOnly:
		return readOnly
	case code == pgQueryCanceled:
		return timedOut
	case code == "53100":
		return diskFull
	case strings.HasPrefix(code, "53"):
		return busy
	case strings.HasPrefix(code, "58"):
		return ioFailed
	case strings.HasPrefix(code, "XX"):
		return corrupt
	case isConflict(err):
		return conflict
	case isAway(err), isFatal(err), isRefused(err):
		return unreachable
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return timedOut
	case isBroken(err):
		return unreachable
	}
	return otherError
}

// isFailure reports whether err is a failure of the database or a bug in this program. It returns false if the shop's
// rules caused err, if the store is closed, or if the client has cancelled its request.
func isFailure(ctx context.Context, err error) bool {
	e, ok := errors.AsType[*shop.Error](err)
	return ok && e.Unwrap() != nil && !errors.Is(err, errClosed) && !(errors.Is(err, context.Canceled) && ctx.Err() != nil)
}
