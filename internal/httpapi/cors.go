package httpapi

import "slices"

// The headers that a page from another origin may send and read, and the number of seconds for which a
// browser may cache this permission.
const (
	corsRequestHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer"
	corsExposedHeaders = "Allow, Content-Disposition, Deprecation, ETag, Idempotency-Replayed, Link, Location, RateLimit, " +
		"RateLimit-Policy, Retry-After, Sunset, WWW-Authenticate, X-Request-Id"
	corsMaxAge = "600"
	// mcpRequestHeaders are further headers that an assistant in a browser sends.
	mcpRequestHeaders = ", Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id"
)

// allowOrigin lets pages from the configured origins read the response. Allowing every origin with "*" is
// safe because the API does not use cookies.
func (a *API) allowOrigin(x *exchange) {
	if len(a.Origins) == 0 || !x.isCall() {
		return
	}
	h := x.w.Header()
	h.Add("Vary", "Origin")
	if origin, ok := a.allowedOrigin(x); ok {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", corsExposedHeaders)
	}
}

// options answers OPTIONS requests, including the CORS preflight requests that browsers send.
func (a *API) options(x *exchange, e *endpoint) error {
	if x.r.URL.Path == "*" { // "OPTIONS *" asks about the whole server
		x.w.Header().Set("Allow", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")
		x.sendNoContent()
		return nil
	}
	if e == nil {
		return errNoSuchPath()
	}
	x.w.Header().Set("Allow", e.allow)
	a.answerPreflight(x, e)
	x.sendNoContent()
	return nil
}

// answerPreflight sets the response headers that a browser expects after a CORS preflight request.
func (a *API) answerPreflight(x *exchange, e *endpoint) {
	if x.r.Header.Get("Access-Control-Request-Method") == "" || x.w.Header().Get("Access-Control-Allow-Origin") == "" {
		return
	}
	h := x.w.Header()
	h.Set("Access-Control-Allow-Methods", e.allow)
	h.Set("Access-Control-Allow-Headers", corsRequestHeaders)
	if x.r.URL.Path == mcpPath {
		h.Set("Access-Control-Allow-Headers", corsRequestHeaders+mcpRequestHeaders)
	}
	h.Set("Access-Control-Max-Age", corsMaxAge)
}

func (a *API) allowedOrigin(x *exchange) (string, bool) {
	origin := x.r.Header.Get("Origin")
	switch {
	case origin == "":
		return "", false
	case slices.Contains(a.Origins, "*"):
		return "*", true
	default:
		return origin, slices.Contains(a.Origins, origin)
	}
}
