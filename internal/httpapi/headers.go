package httpapi

import (
	"net/http"
	"net/url"
)

type header struct{ name, value string }

func setHeaders(h http.Header, all []header) {
	for _, one := range all {
		h.Set(one.name, one.value)
	}
}

// commonHeaders are the headers of every answer, whatever it is.
func commonHeaders(c Config) []header {
	all := []header{{"X-Content-Type-Options", "nosniff"}} // what clients put into a name is never taken for a page
	if c.TLS && ownsHost(c.PublicURL) {
		all = append(all, header{"Strict-Transport-Security", "max-age=31536000"})
	}
	return all
}

// ownsHost tells whether the operator has said that clients reach this service, and no other, under the name: browsers
// hold all of a host's ports to what one of them says.
func ownsHost(publicURL string) bool {
	u, err := url.Parse(publicURL)
	return err == nil && u.Scheme == "https" && u.Port() == ""
}
