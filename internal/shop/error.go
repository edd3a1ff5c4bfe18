package shop

import (
	"errors"
	"fmt"
	"strings"
)

// Code is the machine-readable name of an error. Clients decide by it, so a code never changes its meaning.
type Code string

const (
	InvalidJSON          Code = "invalid_json"
	ValidationFailed     Code = "validation_failed"
	InvalidParameter     Code = "invalid_parameter"
	InvalidCursor        Code = "invalid_cursor"
	MissingAPIKey        Code = "missing_api_key"
	InvalidAPIKey        Code = "invalid_api_key"
	InsufficientScope    Code = "insufficient_scope"
	NotFound             Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	LastAdminKey         Code = "last_admin_key"
	OperationRemoved     Code = "operation_removed"
	PayloadTooLarge      Code = "payload_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	Internal             Code = "internal_error"
	Unavailable          Code = "unavailable"
)

// Error is the one error that leaves the shop. Its message is written for the caller; the cause is for the log alone.
type Error struct {
	Code    Code
	Message string
	cause   error
}

func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %v", e.Code, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.cause }

// Errorf makes an error whose message the caller may read.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// UnavailableError wraps a failure of the database that may pass by itself.
func UnavailableError(cause error) *Error {
	return &Error{Code: Unavailable, Message: "The store cannot be reached right now; try again shortly.", cause: cause}
}

// InternalError wraps a failure that is our own fault; nothing of it shows.
func InternalError(cause error) *Error {
	return &Error{Code: Internal, Message: "Something went wrong on our side; the X-Request-Id names it in the log.", cause: cause}
}

// AsError finds the Error in err; what is none is internal.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return InternalError(err)
}

// Problems collects what is wrong with the members of one body, so that the caller hears of all of it at once.
type Problems []problem

type problem struct{ member, reason string }

// Add notes a reason against a member. The first reason stands: what comes later usually follows from it.
func (p *Problems) Add(member, reason string) {
	for _, known := range *p {
		if known.member == member {
			return
		}
	}
	*p = append(*p, problem{member, reason})
}

// Merge adds the problems of another check.
func (p *Problems) Merge(other Problems) {
	for _, o := range other {
		p.Add(o.member, o.reason)
	}
}

// Err is nil without problems, else a validation_failed that names every one of them.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	parts := make([]string, len(p))
	for i, problem := range p {
		parts[i] = problem.member + " " + problem.reason
	}
	return Errorf(ValidationFailed, "The body is not valid: %s.", strings.Join(parts, "; "))
}
