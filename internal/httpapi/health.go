package httpapi

import (
	"context"
	"net/http"
	"time"

	"animalstore/internal/shop"
)

// livez says that the process runs.
func (a *API) livez(x *exchange) error {
	x.sendJSON(http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}

// readyz says that it can serve: that it is not about to stop, and that the store can be read and written. Otherwise it says
// what is wrong.
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

// readyTimeout is how long the store may take to show that it is there: whoever asks has little patience.
const readyTimeout = 2 * time.Second
