package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// exchange holds the state of one HTTP request and its response.
type exchange struct {
	limits     *web.Limits
	w          web.Recorder
	r          *http.Request
	id         string
	start      time.Time
	route      *route   // nil if the path or the method is unknown
	params     []string // the values of the path parameters, in order
	principal  shop.Principal
	scope      shop.Scope // the scope that the key lacks, if the request fails with insufficient_scope
	body       []byte
	idempotent *shop.IdempotentRequest // nil if the request has no Idempotency-Key
	inFlight   *web.KeyLimit           // the limit towards which the exchange counts; nil if it does not count
	shared     bool                    // true if all clients are sent the same copy of the body
	streamed   bool                    // true for streams and exports, whose duration is not measured
}

// isCall reports whether the request is to the API or from an assistant. Other requests are logged at level debug
// unless they fail.
func (x *exchange) isCall() bool {
	return hasPathPrefix(x.r.URL.Path, "/v1") || x.r.URL.Path == mcpPath
}

// isLimited reports whether the request counts towards the number of requests that its key has in progress. Requests
// without a key do not count, because they need only data in memory. Requests that tools send do not count, because the
// assistant's message already counts. Requests for profiles and metrics do not count, because operators need them most
// when there are many requests.
func (x *exchange) isLimited() bool { return x.isCall() && x.principal.Actor() != "" && !isInner(x.r) }

// release stops counting the exchange towards the requests in progress.
func (x *exchange) release() {
	if x.inFlight != nil {
		x.inFlight.Remove(x.principal)
		x.inFlight = nil
	}
}

// context returns the request's context with the principal added. The service records the principal as the
// actor who made a change.
func (x *exchange) context() context.Context { return shop.WithPrincipal(x.r.Context(), x.principal) }

// pathID returns the first path parameter, which is the id of a resource. It fails with not_found if the
// parameter is not a 64-bit integer, because no resource has such an id.
func (x *exchange) pathID(resource string) (int64, error) { return x.pathIDAt(0, resource) }

// pathIDAt is like pathID but returns the path parameter with the given index.
func (x *exchange) pathIDAt(parameter int, resource string) (int64, error) {
	id, ok := parseInt64(x.params[parameter])
	if !ok {
		return 0, shop.Errorf(shop.NotFound, "There is no %s with this id; an id is an integer of 64 bits.", resource)
	}
	return id, nil
}

// shortBody is the maximum size of a body for which send does not set Content-Length. For a body of "a few KB",
// net/http promises to set the header itself. The map of headers for GET /pets/{petId} then has at most eight entries.
// This makes the request a tenth faster, because a larger map costs far more.
const shortBody = 1 << 10

// send sends a response with the given status, type and body. The body may consist of several parts. If the responses
// that clients have not read yet take up too much memory, send sends an error response instead.
func (x *exchange) send(status int, contentType []string, body ...[]byte) {
	length := 0
	for _, part := range body {
		length += len(part)
	}
	h := x.w.Header()
	if !x.shared {
		release, err := x.limits.HoldBody(x.principal, int64(length))
		if err != nil {
			h.Del("Etag")
			h.Del("Link")
			x.sendError(shop.AsError(err))
			return
		}
		defer release()
	}
	h["Content-Type"] = contentType
	isHead := x.r.Method == http.MethodHead
	if isHead || length > shortBody || x.r.ProtoMajor == 2 {
		h["Content-Length"] = []string{strconv.Itoa(length)}
	}
	x.w.WriteHeader(status)
	x.release() // a client that reads slowly must not block other clients
	if isHead {
		return
	}
	for _, part := range body {
		x.w.Write(part) // fails only if the client has disconnected
	}
}

// sendJSON sends a JSON response that must not be cached.
func (x *exchange) sendJSON(status int, body []byte) {
	x.w.Header()["Cache-Control"] = noStore
	x.send(status, contentTypeJSON, withNewline(body))
}

// sendStored sends the response to a request that may have an Idempotency-Key. The response is either new or was stored
// by an earlier request.
func (x *exchange) sendStored(r shop.StoredResponse) {
	if r.Location != "" {
		x.w.Header().Set("Location", r.Location)
	}
	if r.Tag != "" {
		x.w.Header().Set("ETag", r.Tag)
	}
	x.sendJSON(r.Status, r.Body)
}

func (x *exchange) sendNoContent() { x.w.WriteHeader(http.StatusNoContent) }

// sendWithETag sends a response that clients may cache and revalidate with its entity tag. If the client already has
// the current version, it sends status 304 without a body.
func (x *exchange) sendWithETag(cacheControl, contentType []string, tag string, body ...[]byte) {
	h := x.w.Header()
	h["Cache-Control"] = cacheControl
	h["Etag"] = []string{tag}
	if matchesTag(x.r.Header.Values("If-None-Match"), tag, true) {
		h.Del("Content-Encoding") // there is no content
		x.w.WriteHeader(http.StatusNotModified)
		return
	}
	x.send(http.StatusOK, contentType, body...)
}

// sendFile sends a file that clients may cache and must revalidate.
func (x *exchange) sendFile(file *web.StaticFile) {
	x.shared = true
	body, tag := file.Select(x.w.Header(), x.r)
	x.sendWithETag(revalidateAny, x.w.Header()["Content-Type"], tag, body)
}

// sendCached sends an already encoded response that ends with a newline. Only the client itself may cache
// the response, not a shared cache.
func (x *exchange) sendCached(r cachedResponse) {
	x.sendWithETag(revalidate, contentTypeJSON, r.tag, r.body)
}

// sendResource sends a JSON response that only the client itself may cache. The client must revalidate the
// response before each use.
func (x *exchange) sendResource(tag string, body []byte) {
	x.sendWithETag(revalidate, contentTypeJSON, tag, withNewline(body))
}
