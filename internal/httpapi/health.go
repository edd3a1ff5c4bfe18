package httpapi

import (
	"context"
	"net/http"
	"time"

	"animalstore/internal/shop"
)

// livez reports that the process runs.
func (a *API) livez(x *exchange) error {
	x.sendJSON(http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}

// readyz reports whether the node can serve requests: it is not shutting down, and the store can be read
// and written. Otherwise the error says what is wrong.
func (a *API) readyz(x *exchange) error {
	if a.isStopping() {
		return shop.Errorf(shop.Unavailable, "This node is about to stop; send requests to another one.")
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), readyTimeout)
	defer cancel()
	if err := a.Service.Ready(ctx); err != nil {
		if shop.AsError(err).Code != shop.Unavailable {
			err = shop.UnavailableError(err)
		}
		return err
	}
	x.sendJSON(http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}

// readyTimeout is how long the store may take to respond. Load balancers do not wait much longer.
const readyTimeout = 2 * time.Second
