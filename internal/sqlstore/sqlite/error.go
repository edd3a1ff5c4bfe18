package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"animalstore/internal/sqlstore/engine"
)

// IsDamaged reports whether err means that a file is damaged or is not a database at all.
func IsDamaged(err error) bool {
	code := primaryCode(err)
	return code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB
}

// IsBusy reports whether err means that another connection has locked a file.
func IsBusy(err error) bool { return primaryCode(err) == sqlite.ResultBusy }

// primaryCode returns SQLite's primary result code for err, or ResultError if err did not come from SQLite.
func primaryCode(err error) sqlite.ResultCode { return sqlite.ErrCode(err).ToPrimary() }

// isFull reports whether err means that the disk is full. If the -shm file cannot grow, SQLite returns an error of its own.
func isFull(err error) bool {
	return primaryCode(err) == sqlite.ResultFull || sqlite.ErrCode(err) == sqlite.ResultIOErrSHMSize
}

// convertError converts an error returned by SQLite to an *engine.Error. The result is unavailable if the error may be
// temporary or is caused by the machine. It is internal if a statement is wrong.
func convertError(err error) error {
	if _, own := errors.AsType[*engine.Error](err); own {
		return err
	}
	unavailable := func(kind engine.Kind) error { return &engine.Error{Kind: kind, Class: engine.Unavailable, Err: err} }
	if isFull(err) {
		return unavailable(engine.DiskFull)
	}
	switch primaryCode(err) {
	case sqlite.ResultReadOnly:
		return unavailable(engine.ReadOnly)
	case sqlite.ResultIOErr, sqlite.ResultCantOpen:
		return unavailable(engine.IOFailed)
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return unavailable(engine.Corrupt)
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol, sqlite.ResultNoMem:
		return unavailable(engine.Busy)
	case sqlite.ResultInterrupt:
		return unavailable(engine.Other)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return engine.EndedError(err)
	}
	return &engine.Error{Kind: engine.Other, Class: engine.Internal, Err: err}
}

// describeOpenError adds an explanation if opening a database failed with an error that an operator can fix.
func describeOpenError(err error) error {
	if isFull(err) {
		return fmt.Errorf("the disk is full: %w", err)
	}
	switch primaryCode(err) {
	case sqlite.ResultNotADB:
		return errors.New("the file is not a database")
	case sqlite.ResultCorrupt:
		return fmt.Errorf("the file is damaged: %w", err)
	case sqlite.ResultCantOpen:
		return fmt.Errorf("it or its folder cannot be read or written by this user: %w", err)
	}
	return err
}
