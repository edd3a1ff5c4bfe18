package httpapi

import (
	"context"
	"net/http"
	"time"

	"animalstore/internal/shop"
)

// IsProbe reports whether a request checks the health of the node or reads its metrics.
func IsProbe(r *http.Request) bool {
	return r.URL.Path == "/livez" || r.URL.Path == "/readyz" || r.URL.Path == "/metrics"
}

// livez always succeeds, which shows that the process is running.
func (a *API) livez(x *exchange) error {
	x.sendJSON(http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}

// readyz reports whether the node can serve requests. It fails if the node is shutting down, or if the store cannot be
// read or written. The error says what is wrong.
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

// readyTimeout is how long the readiness check waits for the store. Load balancers do not wait much
// longer.
const readyTimeout = 2 * time.Second
