package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"animalstore/internal/shop"
)

// statusOf is the one table from an error's code to the status of the answer.
var statusOf = map[shop.Code]int{
	shop.InvalidJSON:          http.StatusBadRequest,
	shop.ValidationFailed:     http.StatusBadRequest,
	shop.InvalidParameter:     http.StatusBadRequest,
	shop.InvalidCursor:        http.StatusBadRequest,
	shop.MissingAPIKey:        http.StatusUnauthorized,
	shop.InvalidAPIKey:        http.StatusUnauthorized,
	shop.InsufficientScope:    http.StatusForbidden,
	shop.NotFound:             http.StatusNotFound,
	shop.PetNotFound:          http.StatusNotFound,
	shop.MethodNotAllowed:     http.StatusMethodNotAllowed,
	shop.InvalidTransition:    http.StatusConflict,
	shop.PetNotAvailable:      http.StatusConflict,
	shop.PetHasOpenOrder:      http.StatusConflict,
	shop.CategoryInUse:        http.StatusConflict,
	shop.LastAdminKey:         http.StatusConflict,
	shop.IdempotencyKeyInUse:  http.StatusConflict,
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

// retryAfter is when a client should ask again after a failure that passes by itself.
const retryAfter = time.Second

// errorBody is exactly what every error's answer holds.
type errorBody struct {
	Code    shop.Code `json:"code"`
	Message string    `json:"message"`
	Status  int       `json:"status"`
}

func bodyOf(e *shop.Error) errorBody { return errorBody{e.Code, e.Message, statusOf[e.Code]} }

func (a *API) sendError(c *call, e *shop.Error) {
	if challenge := challengeFor(e.Code, c.route); challenge != "" {
		c.w.Header().Set("WWW-Authenticate", challenge)
	}
	if e.Code == shop.Unavailable {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	c.sendJSON(statusOf[e.Code], encode(bodyOf(e)))
}
