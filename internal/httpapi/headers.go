package httpapi

import (
	"net/http"
	"net/url"
)

// These values are shared by all responses that have the header, so they must not be modified.
var (
	contentTypeJSON = []string{"application/json"}
	noStore         = []string{"no-store"}
	revalidate      = []string{"private, no-cache"} // a client may cache the response, but a shared cache may not
	revalidateAny   = []string{"no-cache"}
)

// commonHeaders returns the headers that are sent with every response.
func commonHeaders(c Config) http.Header {
	headers := http.Header{}
	headers.Set("X-Content-Type-Options", "nosniff") // browsers must not interpret names in a response as HTML
	if c.TLS && ownsHost(c.PublicURL) {
		headers.Set("Strict-Transport-Security", "max-age=31536000")
	}
	return headers
}

// ownsHost reports whether this service uses the default HTTPS port at the host in its public URL. Only
// then may it send Strict-Transport-Security, because browsers apply that header to all ports on the host.
func ownsHost(publicURL string) bool {
	u, err := url.Parse(publicURL)
	return err == nil && u.Scheme == "https" && u.Port() == ""
}
