package httpapi

import (
	"net/http"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

// Refuse rejects a request because the server has too many requests in progress.
func (a *API) Refuse(w http.ResponseWriter, r *http.Request) {
	x := a.begin(w, r)
	defer a.end(x)
	x.err = errTooManyRequests()
}

func errTooManyRequests() error {
	return shop.Errorf(shop.Unavailable, "Too many requests are in progress; try again shortly.")
}

// isLimited reports whether the request counts towards the number of requests that its key has in progress. Requests
// without a key do not count, because they need only data in memory. Requests that tools send do not count, because the
// assistant's message already counts. Requests for profiles and metrics do not count, because operators need them most
// when there are many requests.
func (x *exchange) isLimited() bool { return x.isCall() && x.principal.Actor() != "" && !isInner(x.r) }

// acquire waits until an operation of this kind may run with the key of the request, as web.Limits.Acquire does.
func (x *exchange) acquire(kind admission.Kind) (admission.Slot, error) {
	return x.limits.Acquire(x.r.Context(), kind, x.principal)
}
