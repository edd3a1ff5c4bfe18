package httpapi

import (
	"net/http/pprof"
	profiles "runtime/pprof"

	"animalstore/internal/shop"
)

func (a *API) pprofIndex(x *exchange) error {
	pprof.Index(&x.w, x.r)
	return nil
}

// pprof serves one profile from runtime/pprof.
func (a *API) pprof(x *exchange) error {
	switch name := x.params[0]; name {
	case "cmdline":
		pprof.Cmdline(&x.w, x.r)
	case "profile":
		pprof.Profile(&x.w, x.r)
	case "symbol":
		pprof.Symbol(&x.w, x.r)
	case "trace":
		pprof.Trace(&x.w, x.r)
	default:
		if profiles.Lookup(name) == nil {
			return shop.Errorf(shop.NotFound, "There is no profile with this name; /debug/pprof/ lists all profiles.")
		}
		pprof.Handler(name).ServeHTTP(&x.w, x.r)
	}
	return nil
}
