package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"animalstore/internal/shop"
)

// deprecatedOperation is the only deprecated operation. It remains fully functional until removalDate.
const deprecatedOperation = "getPet"

// These dates are part of the API contract and never change.
var (
	deprecatedSince = time.Date(2026, time.November, 15, 0, 0, 0, 0, time.UTC)
	removalDate     = time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC)
)

// isRemoved reports whether the request arrived after the deprecated operation was removed.
func (a *API) isRemoved(x *exchange) bool {
	today := x.start
	if a.Today != nil {
		today = a.Today()
	}
	return !today.Before(removalDate)
}

// deprecationHeaders returns the headers that announce the removal of the deprecated operation to clients
// (RFC 9745, RFC 8594).
func deprecationHeaders(base string) http.Header {
	return http.Header{
		"Deprecation": {fmt.Sprintf("@%d", deprecatedSince.Unix())},
		"Sunset":      {removalDate.Format(http.TimeFormat)},
		"Link": {fmt.Sprintf(
			`<%[1]s/openapi.yaml>; rel="deprecation"; type="application/yaml", `+
				`<%[1]s/openapi.yaml>; rel="sunset"; type="application/yaml", <%[1]s/pets>; rel="successor-version"`, base)},
	}
}

func errOperationRemoved() error {
	return shop.Errorf(shop.OperationRemoved,
		"GET /pets/{petId} was removed on 5 December 2030; use GET /pets?id=ID, or GET /pets with its status filter, instead.")
}
