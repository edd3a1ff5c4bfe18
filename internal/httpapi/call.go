package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"animalstore/internal/shop"
)

// call is one request on its way through the house, and its answer.
type call struct {
	w         *recorder
	r         *http.Request
	id        string
	route     *route // nil where no operation was found
	params    []string
	principal shop.Principal
	stack     string // of a panic
	cut       bool   // the answer cannot be finished
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// send writes a whole answer.
func (c *call) send(status int, contentType string, body []byte) {
	c.w.Header().Set("Content-Type", contentType)
	c.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		c.w.Write(body) // an error means that the client has gone
	}
}

// sendJSON writes an answer that nobody may keep.
func (c *call) sendJSON(status int, body []byte) {
	c.w.Header().Set("Cache-Control", "no-store")
	c.send(status, "application/json", line(body))
}

// sendNothing says that it is done.
func (c *call) sendNothing() { c.w.WriteHeader(http.StatusNoContent) }

// sendTagged writes an answer that a client may keep and ask for again by its tag.
func (c *call) sendTagged(cacheControl, contentType, tag string, body []byte) {
	c.w.Header().Set("Cache-Control", cacheControl)
	c.w.Header().Set("ETag", tag)
	if matchesTag(c.r.Header.Values("If-None-Match"), tag) {
		c.w.WriteHeader(http.StatusNotModified)
		return
	}
	c.send(http.StatusOK, contentType, body)
}

// encode is the one way from a value to its JSON.
func encode(value any) []byte {
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // our own types always encode
	}
	return body
}

// line ends a body as a line of text, for those who read it on a terminal.
func line(body []byte) []byte { return append(body, '\n') }

// entityTag names an answer by its content alone, so that the name holds on every node and after every restart.
func entityTag(parts ...[]byte) string {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(part)
	}
	return `"` + hex.EncodeToString(hash.Sum(nil)[:16]) + `"`
}

// matchesTag tells whether a list of entity tags names this one. Weak ones count: for a read they are as good.
func matchesTag(fields []string, tag string) bool {
	for _, field := range fields {
		for item := range strings.SplitSeq(field, ",") {
			item = strings.TrimPrefix(strings.TrimSpace(item), "W/")
			if item == tag || item == "*" {
				return true
			}
		}
	}
	return false
}

func stack() string { return string(debug.Stack()) }
