package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"animalstore/internal/shop"
)

// Malformed responds to a request that net/http has refused without calling ServeHTTP. The path in r is not decoded.
// refusal is the response that net/http would have sent.
func (a *API) Malformed(w http.ResponseWriter, r *http.Request, refusal *http.Response) {
	x := a.begin(w, r)
	defer a.end(x)
	e := a.findRoute(x)
	if r.Method != http.MethodOptions {
		x.err = a.admit(x, e)
	}
	if x.err == nil {
		x.err = errMalformed(r, refusal)
	}
}

// errMalformed says why net/http has refused a request.
func errMalformed(r *http.Request, refusal *http.Response) error {
	_, reason, _ := strings.Cut(refusal.Status, ": ")
	_, undecodable := url.PathUnescape(r.URL.Path)
	switch {
	case refusal.StatusCode == http.StatusRequestHeaderFieldsTooLarge:
		return shop.Errorf(shop.PayloadTooLarge, "The request line and the headers are too large; send at most 16 KiB.")
	case refusal.StatusCode == http.StatusExpectationFailed:
		return errUnknownExpectation()
	case undecodable != nil:
		return shop.Errorf(shop.NotFound, "This path does not exist, because it cannot be decoded; send %% itself as %%25.")
	case reason != "":
		return shop.Errorf(shop.InvalidParameter, "The request is not valid HTTP (%s); check its request line and headers.", reason)
	default:
		return shop.Errorf(shop.InvalidParameter, "The request is not valid HTTP; check its request line and headers.")
	}
}

func errUnknownExpectation() error {
	return shop.Errorf(shop.InvalidParameter, "The Expect header is not supported with this value; leave it out or send 100-continue.")
}
