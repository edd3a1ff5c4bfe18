package shop

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Code is the machine-readable name of an error. The meaning of a code never changes, because clients rely on
// it.
type Code string

const (
	InvalidJSON          Code = "invalid_json"
	ValidationFailed     Code = "validation_failed"
	InvalidParameter     Code = "invalid_parameter"
	InvalidCursor        Code = "invalid_cursor"
	InvalidImage         Code = "invalid_image"
	MissingAPIKey        Code = "missing_api_key"
	InvalidAPIKey        Code = "invalid_api_key"
	InsufficientScope    Code = "insufficient_scope"
	NotFound             Code = "not_found"
	PetNotFound          Code = "pet_not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	UnknownCategory      Code = "unknown_category"
	InvalidTransition    Code = "invalid_transition"
	PetNotAvailable      Code = "pet_not_available"
	PetHasOpenOrder      Code = "pet_has_open_order"
	PetExists            Code = "pet_exists"
	CategoryInUse        Code = "category_in_use"
	LastAdminKey         Code = "last_admin_key"
	IdempotencyKeyInUse  Code = "idempotency_key_in_use"
	PhotoLimitReached    Code = "photo_limit_reached"
	PhotoQuotaReached    Code = "photo_quota_reached"
	UndoNotPossible      Code = "undo_not_possible"
	OperationRemoved     Code = "operation_removed"
	EventsExpired        Code = "events_expired"
	PreconditionFailed   Code = "precondition_failed"
	PayloadTooLarge      Code = "payload_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	IdempotencyKeyReused Code = "idempotency_key_reused"
	RateLimited          Code = "rate_limited"
	Internal             Code = "internal_error"
	Unavailable          Code = "unavailable"
)

// Error is the type of all errors returned by the shop's rules. Message is safe to send to clients, whereas
// the cause is only logged.
type Error struct {
	Code       Code
	Message    string
	RetryAfter time.Duration // how long the client should wait before it tries again; 0 if that is not known
	cause      error
}

func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %v", e.Code, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.cause }

// Errorf returns an Error with a formatted message, which is sent to the client.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// UnavailableError wraps a database failure that may be temporary.
func UnavailableError(cause error) *Error {
	return &Error{Code: Unavailable, Message: "The store is temporarily unavailable; try again shortly.", cause: cause}
}

// ErrFull is the cause of a write that failed because the disk of the store is full.
var ErrFull = errors.New("the disk is full")

// FullError wraps a database failure that is caused by a full disk.
func FullError(cause error) *Error {
	return &Error{
		Code: Unavailable, Message: "The store is full, so nothing was changed; its operator has to free disk space.",
		cause: fmt.Errorf("%w: %w", ErrFull, cause),
	}
}

// TimeoutError wraps the error of a read or write that was stopped because it took too long.
func TimeoutError(cause error) *Error {
	return &Error{Code: Unavailable, Message: "This took too long and was stopped; ask for less, or try again shortly.", cause: cause}
}

// NotReadyError wraps a database failure and adds a message for the response to a readiness check.
func NotReadyError(message string, cause error) *Error {
	if e, ok := cause.(*Error); ok && e.Code == Unavailable && e.cause != nil {
		cause = e.cause // the log has the code only once
	}
	return &Error{Code: Unavailable, Message: message, cause: cause}
}

// InternalError wraps an error that is caused by a bug. Its message reveals nothing about the cause.
func InternalError(cause error) *Error {
	return &Error{Code: Internal, Message: "An internal error occurred; the X-Request-Id identifies it in the server's log.", cause: cause}
}

// AsError returns the Error in err's chain. If there is none, it wraps err in an internal_error.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return InternalError(err)
}

// Problems collects everything that is invalid in one request body, so that the client can be told about all
// of it in a single response.
type Problems []problem

type problem struct{ member, reason string }

// Add records why a member of the request body is invalid. The member "" stands for the whole body. Only the
// first reason for each member is kept, because later ones are usually consequences of the first.
func (p *Problems) Add(member, reason string) {
	if !p.has(member) {
		*p = append(*p, problem{member, reason})
	}
}

func (p Problems) has(member string) bool {
	return slices.ContainsFunc(p, func(known problem) bool { return known.member == member })
}

func (p *Problems) remove(members ...string) {
	*p = slices.DeleteFunc(*p, func(known problem) bool { return slices.Contains(members, known.member) })
}

// Merge adds the problems found by another check.
func (p *Problems) Merge(other Problems) {
	for member, reason := range other.All() {
		p.Add(member, reason)
	}
}

// All iterates over the invalid members and the reason why each one is invalid.
func (p Problems) All() iter.Seq2[string, string] {
	return func(yield func(member, reason string) bool) {
		for _, problem := range p {
			if !yield(problem.member, problem.reason) {
				return
			}
		}
	}
}

// Err returns nil if there are no problems. Otherwise it returns a validation_failed error that lists all of
// them.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return Errorf(ValidationFailed, "The body is not valid: %s.", p.join("; "))
}

// String lists all problems on one line.
func (p Problems) String() string { return p.join(", ") }

func (p Problems) join(separator string) string {
	var parts []string
	for member, reason := range p.All() {
		parts = append(parts, strings.TrimPrefix(member+" "+reason, " "))
	}
	return strings.Join(parts, separator)
}
