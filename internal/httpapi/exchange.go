package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// exchange is one request on its way through the house, and its answer. It is over when the request is.
type exchange struct {
	w          *web.Recorder
	r          *http.Request
	id         string
	start      time.Time
	route      *route // nil where no operation was found
	params     []string
	principal  shop.Principal
	body       []byte                  // of a request that has one
	idempotent *shop.IdempotentRequest // where the client wants it done once
	inFlight   *semaphore              // of which it holds one; nil: it holds none
	streamed   bool                    // the answer went on for as long as both sides liked
}

// release gives the place of a request in flight to another.
func (x *exchange) release() {
	if x.inFlight != nil {
		x.inFlight.release()
		x.inFlight = nil
	}
}

// context is that of the request, in which changes are entered as those of the principal.
func (x *exchange) context() context.Context { return shop.WithPrincipal(x.r.Context(), x.principal) }

// pathID returns the path's first parameter, the id of a thing.
func (x *exchange) pathID(thing string) (int64, error) { return x.pathIDAt(0, thing) }

// pathIDAt returns one of the path's parameters, the id of a thing. What is no integer of 64 bits is the id of nothing.
func (x *exchange) pathIDAt(parameter int, thing string) (int64, error) {
	id, ok := parseInt64(x.params[parameter])
	if !ok {
		return 0, shop.Errorf(shop.NotFound, "There is no %s with this id; an id is an integer of 64 bits.", thing)
	}
	return id, nil
}

// responseTimeout is how long a client may take to read an answer.
const responseTimeout = 30 * time.Second

// writeHeader writes the beginning of an answer, and gives the client its time to read it all.
func (x *exchange) writeHeader(status int) {
	http.NewResponseController(x.w.ResponseWriter).SetWriteDeadline(time.Now().Add(responseTimeout)) // what has none needs none
	x.w.WriteHeader(status)
}

// send writes a whole answer.
func (x *exchange) send(status int, contentType string, body []byte) {
	x.w.Header().Set("Content-Type", contentType)
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.writeHeader(status)
	x.release() // the work is done: a client that is slow to read takes nobody's place
	if x.r.Method != http.MethodHead {
		x.w.Write(body) // an error means that the client has gone
	}
}

// sendJSON writes an answer that nobody may keep.
func (x *exchange) sendJSON(status int, body []byte) {
	x.w.Header().Set("Cache-Control", "no-store")
	x.send(status, "application/json", withNewline(body))
}

// sendStored writes an answer that may have been given before.
func (x *exchange) sendStored(a shop.StoredResponse) {
	if a.Location != "" {
		x.w.Header().Set("Location", a.Location)
	}
	if a.Tag != "" {
		x.w.Header().Set("ETag", a.Tag)
	}
	x.sendJSON(a.Status, a.Body)
}

// sendNoContent says that it is done.
func (x *exchange) sendNoContent() { x.writeHeader(http.StatusNoContent) }

// sendWithETag writes an answer that a client may keep and ask for again by its tag.
func (x *exchange) sendWithETag(cacheControl, contentType, tag string, body []byte) {
	x.w.Header().Set("Cache-Control", cacheControl)
	x.w.Header().Set("ETag", tag)
	if matchesTag(x.r.Header["If-None-Match"], tag, true) {
		x.writeHeader(http.StatusNotModified)
		return
	}
	x.send(http.StatusOK, contentType, body)
}

// sendCached writes JSON that is ready, as sendKept does.
func (x *exchange) sendCached(r cachedResponse) {
	x.sendWithETag("private, no-cache", "application/json", r.tag, r.body)
}

// sendResource writes JSON that the client alone may keep, and asks for again by its tag.
func (x *exchange) sendResource(tag string, body []byte) {
	x.sendWithETag("private, no-cache", "application/json", tag, withNewline(body))
}
