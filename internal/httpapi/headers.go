package httpapi

import (
	"net/http"

	"animalstore/internal/web"
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
	web.RequireTLS(headers, c.TLS, c.PublicURL)
	return headers
}
