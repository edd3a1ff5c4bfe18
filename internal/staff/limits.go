package staff

import (
	"net/http"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

const (
	// maxRequests is the maximum number of requests in progress of users who are signed in, and maxKeyRequests the
	// maximum for one key. Both are more than a machine can process at the same time, because all open pages of a key
	// may update at the same moment. maxPublicRequests is the maximum for all users who are not signed in.
	maxRequests       = 256
	maxKeyRequests    = 128
	maxPublicRequests = 64
)

// acquireSlot counts the exchange as a request in progress until it sends its response. It does nothing if the exchange
// already counts. It fails with rate_limited if the user's key has too many requests in progress, and with unavailable
// if all users together have too many.
func (x *exchange) acquireSlot() error {
	if len(x.held) > 0 {
		return nil
	}
	slots := x.slots
	if x.principal.Actor() == "" {
		slots = x.publicSlots
	}
	err := x.acquire(slots)
	if err != nil && shop.AsError(err).Code == shop.RateLimited {
		return errKeyBusy()
	}
	if err != nil {
		return errBusy()
	}
	return nil
}

// acquire counts the exchange towards a limit until it sends its response.
func (x *exchange) acquire(limit *web.KeyLimit) error {
	release, err := limit.Acquire(x.principal)
	if err == nil {
		x.held = append(x.held, release)
	}
	return err
}

// awaitTurn waits until it is the key's turn. The turn ends when the exchange sends its response.
func (x *exchange) awaitTurn(turns *web.KeyTurns) error {
	done, err := turns.Wait(x.r.Context(), x.principal)
	if err == nil {
		x.held = append(x.held, done)
	}
	return err
}

// releaseLimits stops counting the exchange towards the limits that acquire was called with, and ends its turns.
func (x *exchange) releaseLimits() {
	for _, release := range x.held {
		release()
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
	return shop.Errorf(shop.RateLimited, "Too many pages are loading with your key at the same time; try again in a moment.")
}
