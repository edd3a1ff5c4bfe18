package httpapi

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

// Limits for a JSON body. Imports have their own limits.
const (
	maxBodyBytes = 64 << 10
	bodyTimeout  = 30 * time.Second // how long a client may take to send the body
)

// bodyRule specifies which request bodies a route accepts.
type bodyRule struct {
	mediaTypes   []string
	description  string // names the media types in error messages
	typeRequired bool   // if true, a missing Content-Type is an error
	maxBytes     int64
	timeout      time.Duration
	memory       admission.Kind // which limit counts the memory for the body
	incomplete   shop.Code      // the error if the client does not send all of the body
}

// readBody reads the request's body into x.body. It fails if the body violates the route's bodyRule, or if bodies
// already use too much memory. The caller must release the slot when the body is no longer used.
func (x *exchange) readBody() (slot admission.Slot, err error) {
	rule := x.route.body
	if !rule.accepts(x.r.Header) {
		return slot, shop.Errorf(shop.UnsupportedMediaType, "The body must be %s; send it with Content-Type: %s.",
			rule.description, strings.Join(rule.mediaTypes, " or "))
	}
	if x.r.ContentLength > rule.maxBytes {
		return slot, rule.errTooLarge() // refuse the body without reading it
	}
	size := x.r.ContentLength
	if size < 0 {
		size = rule.maxBytes
	}
	if slot, err = x.limits.HoldRequest(rule.memory, x.principal, size); err != nil {
		return slot, err
	}
	defer func() {
		if err != nil {
			slot.Release()
		}
	}()
	control := http.NewResponseController(&x.w)
	control.SetReadDeadline(time.Now().Add(rule.timeout))
	// The buffer does not grow, so the body needs as much memory as was counted.
	buffer := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err = buffer.ReadFrom(http.MaxBytesReader(x.w.ResponseWriter, x.r.Body, rule.maxBytes))
	x.body = buffer.Bytes()
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return slot, rule.errTooLarge()
	}
	if err != nil {
		return slot, shop.Errorf(rule.incomplete, "The body is incomplete; send all of it.")
	}
	control.SetReadDeadline(time.Time{})
	x.w.BodyRead()
	return slot, nil
}

func (rule *bodyRule) errTooLarge() error {
	return shop.Errorf(shop.PayloadTooLarge, "The body is too large; send at most %d bytes.", rule.maxBytes)
}

// accepts reports whether the headers announce an uncompressed body with one of the accepted media types.
// CSV must be encoded in UTF-8. JSON always is.
func (rule *bodyRule) accepts(h http.Header) bool {
	for _, coding := range h.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return false
		}
	}
	switch types := h.Values("Content-Type"); {
	case len(types) == 0, len(types) == 1 && types[0] == "":
		return !rule.typeRequired
	case len(types) == 1 && slices.Contains(rule.mediaTypes, types[0]): // usually, there are no parameters
		return true
	case len(types) == 1:
		mediaType, parameters, err := mime.ParseMediaType(types[0])
		charset := strings.ToLower(parameters["charset"])
		return err == nil && slices.Contains(rule.mediaTypes, mediaType) &&
			(mediaType != "text/csv" || slices.Contains([]string{"", "utf-8", "utf8", "us-ascii"}, charset))
	default:
		return false
	}
}
