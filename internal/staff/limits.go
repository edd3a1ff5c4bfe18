package staff

import (
	"net"
	"net/http"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

// acquireSlot counts the exchange as a request in progress until it sends its response, and reserves the memory for the
// response to a form. It does nothing if the exchange already counts. It fails with rate_limited if the user's key has
// too many requests in progress or too many pages in memory, and with unavailable if all users together have too many.
func (x *exchange) acquireSlot() error {
	if len(x.held) > 0 {
		return nil
	}
	kind := admission.PageRequests
	if x.principal.Actor() == "" {
		kind = admission.PublicRequests
	}
	err := x.acquire(kind)
	if err != nil && shop.AsError(err).Code == shop.RateLimited {
		return errKeyBusy()
	}
	if err != nil {
		return errBusy()
	}
	if x.r.Method == http.MethodPost {
		return x.reserveAnswer()
	}
	return nil
}

// countAs counts a sign-in as a request of the key that signs in, instead of as one of a stranger. It fails with
// rate_limited if the key has used up its rate limit or its share, and with unavailable if all users together have too
// many requests in progress.
func (x *exchange) countAs(principal shop.Principal) error {
	if err := x.Limits.CheckRate(x.w.Header(), principal); err != nil {
		return err
	}
	x.releaseLimits()
	x.principal = principal
	err := x.acquireSlot()
	x.principal = shop.Principal{} // an error page must not look as if the user was signed in
	return err
}

// acquire counts the exchange towards a limit until it sends its response. If the limit has a queue, acquire waits for
// the key's turn.
func (x *exchange) acquire(kind admission.Kind) error {
	slot, err := x.Limits.Acquire(x.r.Context(), kind, x.principal)
	if err == nil {
		x.held = append(x.held, slot)
	}
	return err
}

// releaseLimits stops counting the exchange towards the limits that acquire was called with.
func (x *exchange) releaseLimits() {
	for i := range x.held {
		x.held[i].Release()
	}
	x.held = nil
}

// Refuse rejects a request because the server has too many requests in progress.
func (p *Pages) Refuse(w http.ResponseWriter, r *http.Request) {
	p.serve(w, r, route{page: "none", scope: anyone, handle: func(*Pages, *exchange) error { return errBusy() }})
}

func errBusy() error { return shop.Errorf(shop.Unavailable, "The pages are busy; try again shortly.") }

// errKeyBusy returns the error for a user whose key has used up its share of the requests in progress, or of
// the memory for pages.
func errKeyBusy() error {
	return shop.Errorf(shop.RateLimited, "Too many of your pages are loading at the same time; try again in a moment.")
}

// addressOf returns the network address that a request comes from.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
