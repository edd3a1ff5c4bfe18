package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"animalstore/internal/shop"
)

// StaticFile is a response body that does not change while the process runs. All responses share one copy of the
// content, so the memory does not depend on how many clients read it at the same time.
type StaticFile struct {
	contentType []string
	content     []byte
	tag         string
	gzipped     func() []byte
}

// NewStaticFile returns a file with this content. The caller must not change the content afterwards.
func NewStaticFile(contentType string, content []byte) *StaticFile {
	return &StaticFile{[]string{contentType}, content, shop.EntityTag(content), sync.OnceValue(func() []byte { return compress(content) })}
}

// Hash returns a text that identifies the content and can be part of a URL.
func (f *StaticFile) Hash() string { return f.tag[1:17] }

// Select chooses the plain or the compressed content for a request. It returns the entity tag of that
// representation and sets the headers that describe it.
func (f *StaticFile) Select(h http.Header, r *http.Request) (body []byte, tag string) {
	h["Content-Type"] = f.contentType
	h.Add("Vary", "Accept-Encoding")
	if !AcceptsGzip(r) {
		return f.content, f.tag
	}
	h.Set("Content-Encoding", "gzip")
	return f.gzipped(), strings.TrimSuffix(f.tag, `"`) + `-gzip"` // compressed bytes need a tag of their own
}

// AcceptsGzip reports whether a client accepts a response that is compressed with gzip.
func AcceptsGzip(r *http.Request) bool { return acceptsGzip(r.Header.Values("Accept-Encoding")) }

// acceptsGzip reports whether the values of an Accept-Encoding header allow gzip (RFC 9110, section 12.5.3).
func acceptsGzip(fields []string) bool {
	any := false
	for _, field := range fields {
		for item := range strings.SplitSeq(field, ",") {
			coding, weight, _ := strings.Cut(item, ";")
			name, value, _ := strings.Cut(strings.TrimSpace(weight), "=")
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			accepted := !strings.EqualFold(strings.TrimSpace(name), "q") || err == nil && q > 0
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return accepted
			case "*":
				any = accepted
			}
		}
	}
	return any
}

func compress(content []byte) []byte {
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	w.Write(content) // cannot fail, because the data is written to memory
	w.Close()
	return compressed.Bytes()
}
