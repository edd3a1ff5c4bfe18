package httpapi

import (
	"net/http"
	"strconv"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// shortBody is the maximum size of a body for which send does not set Content-Length. For a body of "a few KB",
// net/http promises to set the header itself. The map of headers for GET /pets/{petId} then has at most eight entries.
// This makes the request a tenth faster, because a larger map costs far more.
const shortBody = 1 << 10

// send sends a response with the given status, type and body. The body may consist of several parts. If the responses
// that clients have not read yet take up too much memory, send sends an error response instead. It does so only for
// reads: the response to a write must not deny what was committed. These responses are short, except those of tools, and
// a tool counts towards its own limit until its response is sent.
func (x *exchange) send(status int, contentType []string, body ...[]byte) {
	length := 0
	for _, part := range body {
		length += len(part)
	}
	h := x.w.Header()
	isHead := x.r.Method == http.MethodHead
	if !x.shared && (isHead || x.r.Method == http.MethodGet) {
		slot, err := x.limits.HoldBody(x.principal, int64(length))
		if err != nil {
			h.Del("Etag")
			h.Del("Link")
			x.sendError(shop.AsError(err))
			return
		}
		defer slot.Release()
	}
	h["Content-Type"] = contentType
	if isHead || length > shortBody || x.r.ProtoMajor == 2 {
		h["Content-Length"] = []string{strconv.Itoa(length)}
	}
	x.w.WriteHeader(status)
	x.inFlight.Release() // a client that reads slowly must not block other clients
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

// sendFile sends a file that clients may cache and must revalidate.
func (x *exchange) sendFile(file *web.StaticFile) {
	x.shared = true
	body, tag := file.Select(x.w.Header(), x.r)
	x.sendWithETag(revalidateAny, x.w.Header()["Content-Type"], tag, body)
}

// cachedResponse is the part of a response that is the same for all clients.
type cachedResponse struct {
	tag   string
	body  []byte
	first string // query string for the first page of the list
	next  string // query string for the next page; "" on the last page and for a single resource
}

// Bytes returns the size of the response in the cache.
func (r cachedResponse) Bytes() int { return len(r.tag) + cap(r.body) + len(r.first) + len(r.next) }

// maxCacheBytes is the maximum size of one cache of responses, and maxKeyCacheBytes the share of one API key.
const (
	maxCacheBytes    = 4 << 20
	maxKeyCacheBytes = 3 << 19
)

func newResponseCache(service *shop.Service) *web.ResponseCache[cachedResponse] {
	return web.NewResponseCache[cachedResponse](service, maxCacheBytes, maxKeyCacheBytes)
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
