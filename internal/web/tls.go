package web

import (
	"net/http"
	"net/url"
)

// RequireTLS sets Strict-Transport-Security if this process terminates TLS and its public URL has the default
// HTTPS port. On another port, it must not send the header, because browsers apply the header to all ports of
// the host.
func RequireTLS(h http.Header, terminatesTLS bool, publicURL string) {
	u, err := url.Parse(publicURL)
	if terminatesTLS && err == nil && u.Scheme == "https" && u.Port() == "" {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
