package sqlstore

import (
	"context"
	"errors"
	"strings"

	"zombiezen.com/go/sqlite"

	"animalstore/internal/shop"
)

// errorKind is what can be wrong with a database, as the metrics name it.
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
	timedOut       errorKind = "timeout"
	unknownOutcome errorKind = "unknown_outcome"
	otherError     errorKind = "other"
)

// readyMessages say what is wrong to whoever asks whether the store is ready. They need no key for that, so nothing is named.
var readyMessages = map[errorKind]string{
	readOnly:       "The database can be read, but not written: a failover may be under way, or its operator has made it read-only.",
	diskFull:       "The database cannot be written: its disk is full.",
	ioFailed:       "The database's disk or files failed; the log says how.",
	corrupt:        "The database is damaged; restore a backup.",
	replaced:       "The database's file was removed or replaced while it was open; put it back, or start again.",
	busy:           "The database is busy with something else, or has no room for more clients.",
	conflict:       "The database is busy: writes get in each other's way.",
	unreachable:    "The database cannot be reached.",
	timedOut:       "The database takes too long to answer.",
	unknownOutcome: "The connection to the database broke during a write.",
	otherError:     "The database refused what it was asked; the log says why.",
}

// errReadOnly is a server that would take no write.
var errReadOnly = errors.New("the server is read-only")

// classify finds out what an error of an engine comes from.
func classify(err error) errorKind {
	switch {
	case errors.Is(err, errUnknown):
		return unknownOutcome
	case errors.Is(err, errFileReplaced):
		return replaced
	case errors.Is(err, errReadOnly):
		return readOnly
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

// isFailure tells whether an error is the database's or ours, and no answer to the caller, who may also have gone.
func isFailure(ctx context.Context, err error) bool {
	e, ok := errors.AsType[*shop.Error](err)
	return ok && e.Unwrap() != nil && !errors.Is(err, errClosed) && !(errors.Is(err, context.Canceled) && ctx.Err() != nil)
}
