package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Code is a machine-readable error code. The meaning of a code never changes, but new codes may be added.
type Code string

// Error codes that the service sends, each with its HTTP status.
const (
	CodeInvalidJSON      Code = "invalid_json"      // HTTP 400
	CodeValidationFailed Code = "validation_failed" // HTTP 400; the message names every invalid field
	CodeInvalidParameter Code = "invalid_parameter" // HTTP 400
	CodeInvalidCursor    Code = "invalid_cursor"    // HTTP 400
	CodeInvalidImage     Code = "invalid_image"     // HTTP 400; the message says why the image cannot become a photo

	CodeMissingAPIKey     Code = "missing_api_key"    // HTTP 401
	CodeInvalidAPIKey     Code = "invalid_api_key"    // HTTP 401
	CodeInsufficientScope Code = "insufficient_scope" // HTTP 403

	CodeNotFound         Code = "not_found"          // HTTP 404
	CodePetNotFound      Code = "pet_not_found"      // HTTP 404; a new order names an animal that does not exist
	CodeMethodNotAllowed Code = "method_not_allowed" // HTTP 405

	CodeUnknownCategory     Code = "unknown_category"       // HTTP 409; the category of a restored animal was deleted, and only known categories are allowed
	CodeInvalidTransition   Code = "invalid_transition"     // HTTP 409; the current status does not allow the change
	CodePetNotAvailable     Code = "pet_not_available"      // HTTP 409; the animal is not for sale, or another client ordered it first
	CodePetHasOpenOrder     Code = "pet_has_open_order"     // HTTP 409
	CodePetExists           Code = "pet_exists"             // HTTP 409; the animal to restore has not been deleted
	CodeCategoryInUse       Code = "category_in_use"        // HTTP 409
	CodeLastAdminKey        Code = "last_admin_key"         // HTTP 409
	CodeIdempotencyKeyInUse Code = "idempotency_key_in_use" // HTTP 409; the first request with this idempotency key is still running
	CodePhotoLimitReached   Code = "photo_limit_reached"    // HTTP 409; the animal already has MaxPhotos photos
	CodePhotoQuotaReached   Code = "photo_quota_reached"    // HTTP 409; the photos of all animals have used up the quota of the store
	CodeUndoNotPossible     Code = "undo_not_possible"      // HTTP 409; the message says why the last step of the order cannot be taken back

	CodeOperationRemoved     Code = "operation_removed"      // HTTP 410
	CodeEventsExpired        Code = "events_expired"         // HTTP 410
	CodePreconditionFailed   Code = "precondition_failed"    // HTTP 412; the resource no longer has the ETag given to IfMatch
	CodePayloadTooLarge      Code = "payload_too_large"      // HTTP 413
	CodeUnsupportedMediaType Code = "unsupported_media_type" // HTTP 415
	CodeIdempotencyKeyReused Code = "idempotency_key_reused" // HTTP 422; the idempotency key was already used for a different request

	CodeRateLimited Code = "rate_limited"   // HTTP 429
	CodeInternal    Code = "internal_error" // HTTP 500
	CodeUnavailable Code = "unavailable"    // HTTP 503
)

// CodeUnexpectedAnswer is set by the client itself for a response that the service would not send. Such a
// response may come from a proxy or from another server.
const CodeUnexpectedAnswer Code = "unexpected_answer"

// Error describes a response that reports a failure.
type Error struct {
	Code       Code
	Message    string        // a sentence for human readers
	Status     int           // the HTTP status
	RequestID  string        // identifies the request in the service's log
	RetryAfter time.Duration // how long to wait before a retry; 0 if the response does not say
}

func (e *Error) Error() string {
	text := fmt.Sprintf("animalstore: %s (%d %s", e.Message, e.Status, e.Code)
	if e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return text + ")"
}

// IsCode reports whether an error is or wraps an *Error with this code.
func IsCode(err error, code Code) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// asError converts a response with a status other than 2xx to an error.
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
		return a.unexpectedError(fmt.Sprintf("it redirects to %q, and redirects are not followed", to))
	}
	return a.unexpectedError("it does not come from the service")
}

// unexpectedError returns the error for a response that the service would not send. The error does not
// contain the response body, which may be a web page or may repeat parts of the request.
func (a apiResponse) unexpectedError(why string) *Error {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)))
	kind := a.header.Get("Content-Type")
	if kind == "" {
		kind = "no Content-Type"
	}
	return a.newError(CodeUnexpectedAnswer, fmt.Sprintf("Unexpected response %s (%s): %s.", status, kind, why))
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
