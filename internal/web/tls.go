package web

import (
	"net/http"
	"net/url"
)

// RequireTLS sets Strict-Transport-Security if this process terminates TLS and uses the default HTTPS port at
// the host in its public URL. Otherwise it must not send that header, because browsers apply the header to all
// ports on the host.
func RequireTLS(h http.Header, terminatesTLS bool, publicURL string) {
	u, err := url.Parse(publicURL)
	if terminatesTLS && err == nil && u.Scheme == "https" && u.Port() == "" {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
