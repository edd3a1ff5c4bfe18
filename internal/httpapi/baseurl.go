package httpapi

import (
	"net"
	"net/http"
	"net/url"
)

// baseURL returns the URL at which the client reached the API. It ends in /v1. X-Forwarded-* headers are
// ignored because any client can send them.
func (a *API) baseURL(r *http.Request) string {
	if a.PublicURL != "" {
		return a.PublicURL
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	host := r.Host
	if host == "" { // HTTP/1.0 does not require a Host header
		if address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			host = address.String()
		}
	}
	return scheme + "://" + host + "/v1"
}

// basePathOf returns the path component of the base URL.
func basePathOf(publicURL string) string {
	if public, err := url.Parse(publicURL); err == nil && publicURL != "" {
		return public.EscapedPath()
	}
	return "/v1"
}
