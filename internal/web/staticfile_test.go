package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"animalstore/internal/shoptest"
)

func TestStaticFileIsCompressedIfTheClientAcceptsGzip(t *testing.T) {
	t.Parallel()
	content := []byte(strings.Repeat("animals ", 1000))
	file := NewStaticFile("text/plain", content)
	for accept, gzipped := range map[string]bool{
		"": false, "gzip": true, "deflate, gzip;q=0.5": true, "GZIP": true, "*": true, "br, *;q=0.1": true, "x-gzip": true,
		"gzip;q=0": false, "gzip; q=0.0, *": false, "*;q=0": false, "deflate": false, "gzipped": false, "gzip;q=nonsense": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", accept)
		h := http.Header{}
		body, tag := file.Select(h, r)
		if got := h.Get("Content-Encoding") == "gzip"; got != gzipped {
			t.Errorf("Accept-Encoding %q: compressed is %v, want %v", accept, got, gzipped)
		}
		if h.Get("Vary") != "Accept-Encoding" || h.Get("Content-Type") != "text/plain" || strings.HasSuffix(tag, `-gzip"`) != gzipped {
			t.Errorf("Accept-Encoding %q: got the headers %v and the tag %s", accept, h, tag)
		}
		if gzipped {
			body = shoptest.Must(io.ReadAll(shoptest.Must(gzip.NewReader(bytes.NewReader(body)))(t)))(t)
		}
		if !bytes.Equal(body, content) {
			t.Errorf("Accept-Encoding %q: the content is not the same", accept)
		}
	}
}

// However many clients read a file at the same time, there is only one copy of it in memory.
func TestStaticFileIsNotCopied(t *testing.T) {
	t.Parallel()
	file := NewStaticFile("text/plain", make([]byte, 1<<20))
	for _, accept := range []string{"", "gzip"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", accept)
		one, _ := file.Select(http.Header{}, r)
		two, _ := file.Select(http.Header{}, r)
		if &one[0] != &two[0] {
			t.Errorf("Accept-Encoding %q: two responses have two copies", accept)
		}
	}
}
