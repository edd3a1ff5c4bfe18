package staff

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// exchange is one HTTP request from a browser, together with its response.
type exchange struct {
	*Pages
	w         *web.Recorder
	r         *http.Request
	route     route
	id        string
	start     time.Time
	err       error  // the error of the handler, or nil
	token     string // the value of the session cookie
	principal shop.Principal
	liveFrom  int64            // the position in the event feed before the page was rendered
	held      []admission.Slot // the limits towards which the exchange counts
	answer    reservedPage     // the memory for the response to a form
	triggers  map[string]any
	message   *message // what the page will tell the user, or nil
	streamed  bool     // whether the response is a stream, whose duration is not measured
}

// caller returns the signed-in principal, on whose behalf the service reads and writes.
func (x *exchange) caller() shop.Caller { return shop.Caller{Principal: x.principal} }

// May reports whether the user's key grants a scope.
func (x *exchange) May(scope shop.Scope) bool { return x.principal.HasScope(scope) }

// partial reports whether htmx sent the request and expects a fragment of a page.
func (x *exchange) partial() bool {
	return x.r.Header.Get("HX-Request") == "true" && x.r.Header.Get("HX-History-Restore-Request") != "true"
}

// At prepends the path prefix from the public URL to a path.
func (p *Pages) At(path string) string { return p.base + path }

// currentPage returns the path and query of the page from which a form was sent, or "" if it is not known.
func (x *exchange) currentPage() string {
	if !x.partial() {
		return x.field("back")
	}
	current, err := url.Parse(x.r.Header.Get("HX-Current-URL"))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(current.RequestURI(), x.base)
}

// backOr returns the path and query in the form field "back", to which the browser returns after an action. If the
// field is missing or does not lead to a staff page, backOr returns its argument.
func (x *exchange) backOr(otherwise string) string { return staffPathOr(x.field("back"), otherwise) }
