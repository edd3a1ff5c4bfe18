package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"animalstore/internal/shop"
)

// IsDamaged reports whether err means that a SQLite file is damaged or is not a database at all.
func IsDamaged(err error) bool {
	code := primaryCode(err)
	return code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB
}

// IsBusy reports whether err means that another connection has locked a SQLite file.
func IsBusy(err error) bool { return primaryCode(err) == sqlite.ResultBusy }

// primaryCode returns SQLite's primary result code for err, or ResultError if err did not come from SQLite.
func primaryCode(err error) sqlite.ResultCode { return sqlite.ErrCode(err).ToPrimary() }

// sqliteError converts an error returned by SQLite to a shop error. The result is unavailable if the error
// may be temporary or is caused by the machine. It is internal if a statement in this package is wrong.
func sqliteError(err error) error {
	switch primaryCode(err) {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultNoMem, sqlite.ResultReadOnly, sqlite.ResultInterrupt,
		sqlite.ResultIOErr, sqlite.ResultCorrupt, sqlite.ResultFull, sqlite.ResultCantOpen, sqlite.ResultProtocol, sqlite.ResultNotADB:
		return shop.UnavailableError(err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return endedError(err)
	}
	return shop.InternalError(err)
}

// describeOpenError adds an explanation if opening a database failed with an error that an operator can fix.
func describeOpenError(err error) error {
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
