package web

import (
	"net"
	"net/http"
	"strings"
)

// BaseURL returns the URL under which the client reaches the API, ending in /v1: publicURL or, if that is
// empty, a URL with the host from the request's Host header.
func BaseURL(publicURL string, r *http.Request) string {
	if publicURL != "" {
		return publicURL
	}
	scheme := "http"
	if r.TLS != nil || forwardedHTTPS(r.Header) {
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

// forwardedHTTPS reports whether the last proxy says that the client uses HTTPS. Links must then begin with https,
// because a client that followed an http link would send its API key unencrypted. Any client can send these headers,
// so they can only turn http into https, and nothing else in them is used.
func forwardedHTTPS(h http.Header) bool {
	if strings.EqualFold(lastItem(h["X-Forwarded-Proto"]), "https") {
		return true
	}
	for pair := range strings.SplitSeq(lastItem(h["Forwarded"]), ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(name, "proto") && strings.EqualFold(strings.Trim(value, `"`), "https") {
			return true
		}
	}
	return false
}

// lastItem returns the last item of a header that contains a list.
func lastItem(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	last := fields[len(fields)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}
