package sqlstore

import (
	"context"
	"errors"
	"strings"

	"zombiezen.com/go/sqlite"

	"animalstore/internal/shop"
)

// trouble is what can be wrong with a database, as the metrics name it.
type trouble string

const (
	readOnly   trouble = "read_only"
	diskFull   trouble = "disk_full"
	ioFailed   trouble = "io"
	corrupt    trouble = "corrupt"
	replaced   trouble = "replaced"
	overloaded trouble = "busy"
	conflict   trouble = "conflict"
	away       trouble = "away"
	slow       trouble = "timeout"
	unknown    trouble = "unknown_outcome"
	ourFault   trouble = "other"
)

// plainWords say what is wrong to whoever asks whether the store is ready. They need no key for that, so nothing is named.
var plainWords = map[trouble]string{
	readOnly:   "The database can be read, but not written: a failover may be under way, or its operator has made it read-only.",
	diskFull:   "The database cannot be written: its disk is full.",
	ioFailed:   "The database's disk or files failed; the log says how.",
	corrupt:    "The database is damaged; restore a backup.",
	replaced:   "The database's file was removed or replaced while it was open; put it back, or start again.",
	overloaded: "The database is busy with something else, or has no room for more clients.",
	conflict:   "The database is busy: writes get in each other's way.",
	away:       "The database cannot be reached.",
	slow:       "The database takes too long to answer.",
	unknown:    "The connection to the database broke during a write.",
	ourFault:   "The database refused what it was asked; the log says why.",
}

// errReadOnly is a server that would take no write.
var errReadOnly = errors.New("the server is read-only")

// troubleOf finds out what an error of an engine comes from.
func troubleOf(err error) trouble {
	switch {
	case errors.Is(err, errUnknown):
		return unknown
	case errors.Is(err, errOtherFile):
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
		return overloaded
	}
	switch code := pgCode(err); {
	case code == pgReadOnly:
		return readOnly
	case code == "53100":
		return diskFull
	case strings.HasPrefix(code, "53"):
		return overloaded
	case strings.HasPrefix(code, "58"):
		return ioFailed
	case strings.HasPrefix(code, "XX"):
		return corrupt
	case isConflict(err):
		return conflict
	case isAway(err), isFatal(err), isRefused(err):
		return away
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return slow
	case isBroken(err):
		return away
	}
	return ourFault
}

// isTrouble tells whether an error is the database's or ours, and no answer to the caller, who may also have gone.
func isTrouble(ctx context.Context, err error) bool {
	e, ok := errors.AsType[*shop.Error](err)
	return ok && e.Unwrap() != nil && !errors.Is(err, errClosed) && !(errors.Is(err, context.Canceled) && ctx.Err() != nil)
}
