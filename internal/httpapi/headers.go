package httpapi

import (
	"net/http"
	"net/url"
)

type header struct{ name, value string }

func setHeaders(h http.Header, headers []header) {
	for _, header := range headers {
		h.Set(header.name, header.value)
	}
}

// commonHeaders returns the headers that are sent with every response.
func commonHeaders(c Config) []header {
	// Browsers must not interpret names in a response as HTML.
	headers := []header{{"X-Content-Type-Options", "nosniff"}}
	if c.TLS && ownsHost(c.PublicURL) {
		headers = append(headers, header{"Strict-Transport-Security", "max-age=31536000"})
	}
	return headers
}

// ownsHost reports whether this service uses the default HTTPS port at the host in its public URL. Only
// then may it send Strict-Transport-Security, because browsers apply that header to all ports on the host.
func ownsHost(publicURL string) bool {
	u, err := url.Parse(publicURL)
	return err == nil && u.Scheme == "https" && u.Port() == ""
}
