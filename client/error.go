package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Code is the machine-readable name of an error. A code never changes its meaning; new ones may come.
type Code string

// The codes of the service, by the status that they come with.
const (
	CodeInvalidJSON      Code = "invalid_json"      // 400
	CodeValidationFailed Code = "validation_failed" // 400; the message names every wrong member
	CodeInvalidParameter Code = "invalid_parameter" // 400
	CodeInvalidCursor    Code = "invalid_cursor"    // 400

	CodeMissingAPIKey     Code = "missing_api_key"    // 401
	CodeInvalidAPIKey     Code = "invalid_api_key"    // 401
	CodeInsufficientScope Code = "insufficient_scope" // 403

	CodeNotFound         Code = "not_found"          // 404
	CodePetNotFound      Code = "pet_not_found"      // 404; the animal that an order names
	CodeMethodNotAllowed Code = "method_not_allowed" // 405

	CodeInvalidTransition   Code = "invalid_transition"     // 409; a status that cannot follow the one that is
	CodePetNotAvailable     Code = "pet_not_available"      // 409; somebody else was faster
	CodePetHasOpenOrder     Code = "pet_has_open_order"     // 409
	CodeCategoryInUse       Code = "category_in_use"        // 409
	CodeLastAdminKey        Code = "last_admin_key"         // 409
	CodeIdempotencyKeyInUse Code = "idempotency_key_in_use" // 409; the first request still runs

	CodeOperationRemoved     Code = "operation_removed"      // 410
	CodeEventsExpired        Code = "events_expired"         // 410
	CodePreconditionFailed   Code = "precondition_failed"    // 412; see IfMatch
	CodePayloadTooLarge      Code = "payload_too_large"      // 413
	CodeUnsupportedMediaType Code = "unsupported_media_type" // 415
	CodeIdempotencyKeyReused Code = "idempotency_key_reused" // 422; by another request

	CodeRateLimited Code = "rate_limited"   // 429
	CodeInternal    Code = "internal_error" // 500
	CodeUnavailable Code = "unavailable"    // 503
)

// CodeUnexpectedAnswer is the client's own: the answer did not come from the service, but perhaps from a proxy before
// it, or from another server altogether.
const CodeUnexpectedAnswer Code = "unexpected_answer"

// Error is the answer of a service that did not do what it was asked.
type Error struct {
	Code       Code
	Message    string        // one sentence for people
	Status     int           // the HTTP status
	RequestID  string        // names the request in the log of the service
	RetryAfter time.Duration // when to ask again; 0: the answer does not say
}

func (e *Error) Error() string {
	text := fmt.Sprintf("animalstore: %s (%d %s", e.Message, e.Status, e.Code)
	if e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return text + ")"
}

// IsCode tells whether an error is an *Error with this code, or wraps one.
func IsCode(err error, code Code) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// asError is the error of an answer that is no success.
func (a apiResponse) asError() *Error {
	var body struct {
		Code    Code
		Message string
		Status  int
	}
	if json.Unmarshal(a.body, &body) == nil && body.Code != "" && body.Status == a.status {
		return a.newError(body.Code, body.Message)
	}
	if to := a.header.Get("Location"); to != "" && a.status < 400 {
		return a.unexpectedError(fmt.Sprintf("it leads to %q, where the key is not sent", to))
	}
	return a.unexpectedError("it is not the service's own")
}

// unexpectedError is the error of an answer that the service would not give. It shows nothing of the body: that may be a
// page, and may repeat what was sent.
func (a apiResponse) unexpectedError(why string) *Error {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)))
	kind := a.header.Get("Content-Type")
	if kind == "" {
		kind = "no type"
	}
	return a.newError(CodeUnexpectedAnswer, fmt.Sprintf("The answer %s (%s) cannot be used: %s.", status, kind, why))
}

func (a apiResponse) newError(code Code, message string) *Error {
	return &Error{
		Code:       code,
		Message:    message,
		Status:     a.status,
		RequestID:  a.header.Get("X-Request-Id"),
		RetryAfter: retryAfter(a.header.Get("Retry-After")),
	}
}

// retryAfter reads the header of that name, which holds seconds or a date.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(seconds) * time.Second // of a number out of range: the largest
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}
