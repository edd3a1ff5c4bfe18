package httpapi

import (
	"net"
	"net/http"
	"net/url"
)

// baseURL is the address that clients reach us at, ending in /v1. Only the request itself is believed, never a forwarded
// header: anybody can send those.
func (a *API) baseURL(r *http.Request) string {
	if a.PublicURL != "" {
		return a.PublicURL
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	host := r.Host
	if host == "" { // HTTP/1.0 need not send one
		if address, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			host = address.String()
		}
	}
	return scheme + "://" + host + "/v1"
}

// basePathOf is the path of the base address.
func basePathOf(publicURL string) string {
	if public, err := url.Parse(publicURL); err == nil && publicURL != "" {
		return public.EscapedPath()
	}
	return "/v1"
}
