package httpapi

import (
	"net/http"
	"net/url"
)

// alwaysSent are the headers of every answer, whatever it is.
func alwaysSent(c Config) http.Header {
	h := http.Header{"X-Content-Type-Options": {"nosniff"}} // what clients put into a name is never taken for a page
	if c.TLS && ownsItsName(c.PublicURL) {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	return h
}

// ownsItsName tells whether the operator has said that clients reach this service, and no other, under the name: browsers
// hold all of a host's ports to what one of them says.
func ownsItsName(publicURL string) bool {
	u, err := url.Parse(publicURL)
	return err == nil && u.Scheme == "https" && u.Port() == ""
}
