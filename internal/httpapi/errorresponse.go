package httpapi

import (
	"cmp"
	"strconv"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// retryAfter is how long a client should wait before it retries after a temporary failure.
const retryAfter = time.Second

// errorBody is the JSON body that every error response has.
type errorBody struct {
	Code    shop.Code `json:"code"`
	Message string    `json:"message"`
	Status  int       `json:"status"`
}

func newErrorBody(e *shop.Error) errorBody { return errorBody{e.Code, e.Message, web.Status[e.Code]} }

// sendError sends an error response.
func (x *exchange) sendError(e *shop.Error) {
	if challenge := challengeFor(e.Code, x.scope); challenge != "" {
		x.w.Header().Set("WWW-Authenticate", challenge)
	}
	// The rate limiter has already set Retry-After. Most other limits do not know how long the client should wait.
	if h := x.w.Header(); (e.Code == shop.Unavailable || e.Code == shop.RateLimited) && h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(int(cmp.Or(e.RetryAfter, retryAfter).Seconds())))
	}
	x.sendJSON(web.Status[e.Code], encode(newErrorBody(e)))
}
