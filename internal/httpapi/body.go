package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// maxBodyBytes is how large the body of a request may be.
const maxBodyBytes = 64 << 10

// bodyTimeout is how long a client may take to send a body.
const bodyTimeout = 30 * time.Second

// bodyRule is what a route asks of a body.
type bodyRule struct {
	mediaTypes   []string // the media types that it takes
	description  string   // they are, in words
	typeRequired bool     // one of them must be named; else none at all is taken for the right one
	maxBytes     int64    // bytes
	timeout      time.Duration
}

// readBody reads the whole body of a request, which must be of a type that its route takes.
func (x *exchange) readBody() (err error) {
	rule := x.route.body
	if !rule.accepts(x.r.Header) {
		return shop.Errorf(shop.UnsupportedMediaType, "The body must be %s; send it with Content-Type: %s.", rule.description, strings.Join(rule.mediaTypes, " or "))
	}
	if x.r.ContentLength > rule.maxBytes {
		return rule.errTooLarge() // without asking for any of it
	}
	control := http.NewResponseController(x.w)
	control.SetReadDeadline(time.Now().Add(rule.timeout)) // what has no deadline needs none
	x.body, err = io.ReadAll(http.MaxBytesReader(x.w.ResponseWriter, x.r.Body, rule.maxBytes))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return rule.errTooLarge()
	}
	if err != nil {
		return shop.Errorf(shop.InvalidJSON, "The body broke off before its end; send all of it.")
	}
	control.SetReadDeadline(time.Time{})
	x.w.BodyRead()
	return nil
}

func (rule *bodyRule) errTooLarge() error {
	return shop.Errorf(shop.PayloadTooLarge, "The body is too large; send at most %d bytes.", rule.maxBytes)
}

// accepts tells whether the headers announce one of the media types, as it is and not compressed. A text is UTF-8.
func (rule *bodyRule) accepts(h http.Header) bool {
	for _, coding := range h.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return false
		}
	}
	switch types := h.Values("Content-Type"); {
	case len(types) == 0, len(types) == 1 && types[0] == "":
		return !rule.typeRequired
	case len(types) == 1:
		mediaType, parameters, err := mime.ParseMediaType(types[0])
		charset := strings.ToLower(parameters["charset"])
		return err == nil && slices.Contains(rule.mediaTypes, mediaType) &&
			(mediaType != "text/csv" || slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, charset))
	default:
		return false
	}
}
