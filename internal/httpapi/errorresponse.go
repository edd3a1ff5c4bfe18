package httpapi

import (
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

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
	web.SetRetryAfter(x.w.Header(), e)
	x.sendJSON(web.Status[e.Code], encode(newErrorBody(e)))
}
