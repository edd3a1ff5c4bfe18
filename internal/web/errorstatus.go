package web

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"time"

	"animalstore/internal/shop"
)

// StatusClientGone is the status that logs and metrics show if a client disconnects before it gets a
// response. It is never sent to a client. nginx uses the same number.
const StatusClientGone = 499

// Status maps each error code to the HTTP status that is sent with the error.
var Status = map[shop.Code]int{
	shop.InvalidJSON:          http.StatusBadRequest,
	shop.ValidationFailed:     http.StatusBadRequest,
	shop.InvalidParameter:     http.StatusBadRequest,
	shop.InvalidCursor:        http.StatusBadRequest,
	shop.InvalidImage:         http.StatusBadRequest,
	shop.MissingAPIKey:        http.StatusUnauthorized,
	shop.InvalidAPIKey:        http.StatusUnauthorized,
	shop.InsufficientScope:    http.StatusForbidden,
	shop.NotFound:             http.StatusNotFound,
	shop.PetNotFound:          http.StatusNotFound,
	shop.MethodNotAllowed:     http.StatusMethodNotAllowed,
	shop.UnknownCategory:      http.StatusConflict,
	shop.InvalidTransition:    http.StatusConflict,
	shop.PetNotAvailable:      http.StatusConflict,
	shop.PetHasOpenOrder:      http.StatusConflict,
	shop.PetExists:            http.StatusConflict,
	shop.CategoryInUse:        http.StatusConflict,
	shop.LastAdminKey:         http.StatusConflict,
	shop.IdempotencyKeyInUse:  http.StatusConflict,
	shop.PhotoLimitReached:    http.StatusConflict,
	shop.PhotoQuotaReached:    http.StatusConflict,
	shop.UndoNotPossible:      http.StatusConflict,
	shop.OperationRemoved:     http.StatusGone,
	shop.EventsExpired:        http.StatusGone,
	shop.PreconditionFailed:   http.StatusPreconditionFailed,
	shop.PayloadTooLarge:      http.StatusRequestEntityTooLarge,
	shop.UnsupportedMediaType: http.StatusUnsupportedMediaType,
	shop.IdempotencyKeyReused: http.StatusUnprocessableEntity,
	shop.RateLimited:          http.StatusTooManyRequests,
	shop.Internal:             http.StatusInternalServerError,
	shop.Unavailable:          http.StatusServiceUnavailable,
}

// retryAfter is how long a client should wait before it retries after a temporary failure, unless the error says more.
const retryAfter = time.Second

// SetRetryAfter says in a response when the client may try again, if the error is temporary. A rate limit has already
// said so.
func SetRetryAfter(h http.Header, e *shop.Error) {
	if (e.Code == shop.Unavailable || e.Code == shop.RateLimited) && h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(cmp.Or(e.RetryAfter, retryAfter).Seconds()))))
	}
}
