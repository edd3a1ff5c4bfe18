package httpapi

import (
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

func (a *API) sendError(x *exchange, e *shop.Error) {
	if challenge := challengeFor(e.Code, x.route); challenge != "" {
		x.w.Header().Set("WWW-Authenticate", challenge)
	}
	if e.Code == shop.Unavailable {
		x.w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	x.sendJSON(web.Status[e.Code], encode(newErrorBody(e)))
}
