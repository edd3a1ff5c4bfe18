package engine

import (
	"context"
	"errors"
	"fmt"
)

// Error is a failure of the database, or a wrong statement.
type Error struct {
	Kind  Kind
	Class Class
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Class says what the caller of an engine can do about an error.
type Class int

const (
	Internal    Class = iota // nothing: a statement is wrong
	Unavailable              // try again later
	Timeout                  // try again later, or ask for less
)

// Kind is the cause of an error. It is the value of a metric's label.
type Kind string

const (
	ReadOnly       Kind = "read_only"
	DiskFull       Kind = "disk_full"
	IOFailed       Kind = "io"
	Corrupt        Kind = "corrupt"
	Replaced       Kind = "replaced"
	Busy           Kind = "busy"
	Conflict       Kind = "conflict"
	Unreachable    Kind = "away"
	Unsuitable     Kind = "unsuitable"
	LostHistory    Kind = "timeline"
	TimedOut       Kind = "timeout"
	UnknownOutcome Kind = "unknown_outcome"
	Other          Kind = "other"
)

// Kinds lists all kinds.
var Kinds = []Kind{ReadOnly, DiskFull, IOFailed, Corrupt, Replaced, Busy, Conflict, Unreachable, Unsuitable, LostHistory,
	TimedOut, UnknownOutcome, Other}

// KindOf returns the cause of an error that an engine has returned.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Other
}

var (
	// ErrClosed means that the database has been closed.
	ErrClosed = errors.New("the store is closed")
	// ErrNoStore means that the database exists but has no schema.
	ErrNoStore = errors.New("there is no store in it")
)

// ClosedError returns ErrClosed as an *Error.
func ClosedError() error { return &Error{Other, Unavailable, ErrClosed} }

// EndedError returns the *Error for a read or write whose context has ended. It is a timeout if the deadline has passed.
// Otherwise the client has gone away and does not see the error.
func EndedError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{TimedOut, Timeout, err}
	}
	return &Error{Other, Unavailable, err}
}

// NewerSchemaError returns the error for a schema version that this program does not know, because it is too new.
func NewerSchemaError(version, known int) error {
	return fmt.Errorf("it was written by a newer animalstore (schema %d; this one knows %d)", version, known)
}
