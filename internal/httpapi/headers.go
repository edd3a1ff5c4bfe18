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

// commonHeaders returns the headers of every response.
func commonHeaders(c Config) []header {
	headers := []header{{"X-Content-Type-Options", "nosniff"}} // browsers must not interpret names as HTML
	if c.TLS && ownsHost(c.PublicURL) {
		headers = append(headers, header{"Strict-Transport-Security", "max-age=31536000"})
	}
	return headers
}

// ownsHost reports whether the public URL gives this service the default HTTPS port of its host. Only then
// may it send Strict-Transport-Security, which browsers apply to all ports of a host.
func ownsHost(publicURL string) bool {
	u, err := url.Parse(publicURL)
	return err == nil && u.Scheme == "https" && u.Port() == ""
}
