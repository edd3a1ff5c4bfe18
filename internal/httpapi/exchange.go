package httpapi

import (
	"net/http"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// exchange holds the state of one HTTP request and its response.
type exchange struct {
	limits     *web.Limits
	w          web.Recorder
	r          *http.Request
	id         string
	start      time.Time
	route      *route   // nil if the path or the method is unknown
	params     []string // the values of the path parameters, in order
	principal  shop.Principal
	scope      shop.Scope // the scope that the key lacks, if the request fails with insufficient_scope
	body       []byte
	refused    error                   // why the image in the body cannot become a photo, whatever it is
	idempotent *shop.IdempotentRequest // nil if the request has no Idempotency-Key
	inFlight   admission.Slot          // held while the exchange counts as a request in progress
	shared     bool                    // true if all clients are sent the same copy of the body
	err        error                   // the error of the handler, or nil
	streamed   bool                    // true for streams and exports, whose duration is not measured
}

// isCall reports whether the request is to the API or from an assistant. Other requests are logged at level debug
// unless they fail.
func (x *exchange) isCall() bool {
	return hasPathPrefix(x.r.URL.Path, "/v1") || x.r.URL.Path == mcpPath
}

// caller returns the caller on whose behalf the service reads and writes.
func (x *exchange) caller() shop.Caller {
	return shop.Caller{Principal: x.principal, Request: x.idempotent}
}
