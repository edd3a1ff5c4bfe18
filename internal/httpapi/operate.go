package httpapi

import (
	"context"
	"net/http"
	"net/http/pprof"
	profiles "runtime/pprof"
	"time"

	"animalstore/internal/shop"
)

// livez says that the process runs.
func (a *API) livez(c *call) error {
	c.sendJSON(http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}

// readyz says that it can serve: that it is not about to stop, and that the store can be read and written. Otherwise it says
// what is wrong.
func (a *API) readyz(c *call) error {
	if a.isStopping() {
		return shop.Errorf(shop.Unavailable, "This node is about to stop; send requests to another one.")
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), readyTimeout)
	defer cancel()
	if err := a.Service.Ready(ctx); err != nil {
		if shop.AsError(err).Code != shop.Unavailable {
			err = shop.UnavailableError(err)
		}
		return err
	}
	c.sendJSON(http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}

// readyTimeout is how long the store may take to show that it is there: whoever asks has little patience.
const readyTimeout = 2 * time.Second

func (a *API) getMetrics(c *call) error {
	a.metrics.handler.ServeHTTP(c.w, c.r)
	return nil
}

func (a *API) pprofIndex(c *call) error {
	pprof.Index(c.w, c.r)
	return nil
}

// pprof serves the profiles of Go's own tools, in their form.
func (a *API) pprof(c *call) error {
	switch name := c.params[0]; name {
	case "cmdline":
		pprof.Cmdline(c.w, c.r)
	case "profile":
		pprof.Profile(c.w, c.r)
	case "symbol":
		pprof.Symbol(c.w, c.r)
	case "trace":
		pprof.Trace(c.w, c.r)
	default:
		if profiles.Lookup(name) == nil {
			return shop.Errorf(shop.NotFound, "There is no profile of this name; /debug/pprof/ lists them.")
		}
		pprof.Handler(name).ServeHTTP(c.w, c.r)
	}
	return nil
}
