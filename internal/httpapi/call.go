package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// call is one request on its way through the house, and its answer. It is over when the request is.
type call struct {
	w         *web.Recorder
	r         *http.Request
	id        string
	start     time.Time
	route     *route // nil where no operation was found
	params    []string
	principal shop.Principal
	body      []byte                  // of a request that has one
	repeat    *shop.IdempotentRequest // where the client wants it done once
	slots     *slots                  // of which it holds one; nil: it holds none
	streamed  bool                    // the answer went on for as long as both sides liked
}

// leave gives the place of a request in flight to another.
func (c *call) leave() {
	if c.slots != nil {
		c.slots.leave()
		c.slots = nil
	}
}

// context is that of the request, in which changes are entered as those of the principal.
func (c *call) context() context.Context { return shop.WithPrincipal(c.r.Context(), c.principal) }

// idOf returns the path's first parameter, the id of a thing.
func (c *call) idOf(thing string) (int64, error) { return c.idAt(0, thing) }

// idAt returns one of the path's parameters, the id of a thing. What is no integer of 64 bits is the id of nothing.
func (c *call) idAt(parameter int, thing string) (int64, error) {
	id, ok := parseInt64(c.params[parameter])
	if !ok {
		return 0, shop.Errorf(shop.NotFound, "There is no %s with this id; an id is an integer of 64 bits.", thing)
	}
	return id, nil
}

// answerTimeout is how long a client may take to read an answer.
const answerTimeout = 30 * time.Second

// begin writes the beginning of an answer, and gives the client its time to read it all.
func (c *call) begin(status int) {
	http.NewResponseController(c.w.ResponseWriter).SetWriteDeadline(time.Now().Add(answerTimeout)) // what has none needs none
	c.w.WriteHeader(status)
}

// send writes a whole answer.
func (c *call) send(status int, contentType string, body []byte) {
	c.w.Header().Set("Content-Type", contentType)
	c.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.begin(status)
	c.leave() // the work is done: a client that is slow to read takes nobody's place
	if c.r.Method != http.MethodHead {
		c.w.Write(body) // an error means that the client has gone
	}
}

// sendJSON writes an answer that nobody may keep.
func (c *call) sendJSON(status int, body []byte) {
	c.w.Header().Set("Cache-Control", "no-store")
	c.send(status, "application/json", line(body))
}

// sendAnswer writes an answer that may have been given before.
func (c *call) sendAnswer(a shop.StoredResponse) {
	if a.Location != "" {
		c.w.Header().Set("Location", a.Location)
	}
	if a.Tag != "" {
		c.w.Header().Set("ETag", a.Tag)
	}
	c.sendJSON(a.Status, a.Body)
}

// sendNothing says that it is done.
func (c *call) sendNothing() { c.begin(http.StatusNoContent) }

// sendTagged writes an answer that a client may keep and ask for again by its tag.
func (c *call) sendTagged(cacheControl, contentType, tag string, body []byte) {
	c.w.Header().Set("Cache-Control", cacheControl)
	c.w.Header().Set("ETag", tag)
	if matchesTag(c.r.Header["If-None-Match"], tag, true) {
		c.begin(http.StatusNotModified)
		return
	}
	c.send(http.StatusOK, contentType, body)
}

// sendReady writes JSON that is ready, as sendKept does.
func (c *call) sendReady(r ready) {
	c.sendTagged("private, no-cache", "application/json", r.tag, r.body)
}

// sendKept writes JSON that the client alone may keep, and asks for again by its tag.
func (c *call) sendKept(tag string, body []byte) {
	c.sendTagged("private, no-cache", "application/json", tag, line(body))
}

// encode is the one way from a value to its JSON.
func encode(value any) []byte {
	switch value := value.(type) {
	case shop.Pet:
		return encodePet(value)
	case []shop.Pet:
		return appendPets(nil, value)
	}
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // our own types always encode
	}
	return body
}

// encodePet is encode for an animal, without a copy of it to begin with.
func encodePet(pet shop.Pet) []byte { return pet.AppendJSON(make([]byte, 0, 128)) }

// line ends a body as a line of text, for those who read it on a terminal. The body must be nobody else's.
func line(body []byte) []byte { return append(body, '\n') }

// entityTag names an answer by its content alone, so that the name holds on every node and after every restart.
func entityTag(parts ...[]byte) string {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(part)
	}
	return `"` + hex.EncodeToString(hash.Sum(nil)[:16]) + `"`
}

// thingTag is the entity tag of one thing, answered alone.
func thingTag[T any](thing T) string { return entityTag(encode(thing)) }

// ifMatch is the condition that a client puts on a thing by its entity tag; nil: none.
func ifMatch[T any](c *call) shop.Precondition[T] {
	fields := c.r.Header["If-Match"]
	if len(fields) == 0 {
		return nil
	}
	return func(thing T) bool { return matchesTag(fields, thingTag(thing), false) }
}

// matchesTag tells whether a list of entity tags names this one. For a read, weak tags count too.
func matchesTag(fields []string, tag string, weak bool) bool {
	for _, field := range fields {
		for item := range strings.SplitSeq(field, ",") {
			item = strings.TrimSpace(item)
			if weak {
				item = strings.TrimPrefix(item, "W/")
			}
			if item == tag || item == "*" {
				return true
			}
		}
	}
	return false
}
