package httpapi

import (
	"net/http"

	"animalstore/internal/shop"
)

const (
	// defaultInFlight is the default maximum number of requests in progress. It is far more than a machine can
	// process in parallel, but low enough for all of these requests to be served within about a second.
	// defaultKeyInFlight is the maximum for one API key. A request occupies its connection even while it is
	// waiting for a turn or for another request with the same Idempotency-Key, so this maximum is a third of
	// the connections that the program allows by default.
	defaultInFlight    = 1024
	defaultKeyInFlight = 333
	// maxWaiting is the maximum number of requests of one kind that are waiting for their turn or being processed, and
	// maxKeyWaiting is the maximum for one API key.
	maxWaiting    = 256
	maxKeyWaiting = 64
)

// Refuse rejects a request because the server has too many requests in progress.
func (a *API) Refuse(w http.ResponseWriter, r *http.Request) {
	a.exchange(w, r, func(*exchange) error { return errTooManyRequests() })
}

func errTooManyRequests() error {
	return shop.Errorf(shop.Unavailable, "Too many requests are in progress; try again shortly.")
}

// isLimited reports whether the request counts towards the number of requests that its key has in progress. Requests
// without a key do not count, because they need only data in memory. Requests that tools send do not count, because the
// assistant's message already counts. Requests for profiles and metrics do not count, because operators need them most
// when there are many requests.
func (x *exchange) isLimited() bool { return x.isCall() && x.principal.Actor() != "" && !isInner(x.r) }

// release stops counting the exchange towards the requests in progress.
func (x *exchange) release() {
	if x.inFlight != nil {
		x.inFlight.Remove(x.principal)
		x.inFlight = nil
	}
}
