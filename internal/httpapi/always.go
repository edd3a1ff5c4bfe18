package httpapi

import (
	"net/http"
	"net/url"
)

// header is one of an answer, under its name in canonical form.
type header struct {
	name   string
	values []string
}

// setAll sets headers whose values are shared by all answers, and changed by none.
func setAll(h http.Header, all []header) {
	for _, one := range all {
		h[one.name] = one.values
	}
}

// alwaysSent are the headers of every answer, whatever it is.
func alwaysSent(c Config) []header {
	all := []header{{"X-Content-Type-Options", []string{"nosniff"}}} // what clients put into a name is never taken for a page
	if c.TLS && ownsItsName(c.PublicURL) {
		all = append(all, header{"Strict-Transport-Security", []string{"max-age=31536000"}})
	}
	return all
}

// ownsItsName tells whether the operator has said that clients reach this service, and no other, under the name: browsers
// hold all of a host's ports to what one of them says.
func ownsItsName(publicURL string) bool {
	u, err := url.Parse(publicURL)
	return err == nil && u.Scheme == "https" && u.Port() == ""
}
