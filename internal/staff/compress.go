package staff

import (
	"compress/gzip"
	"io"
	"net/http"

	"animalstore/internal/web"
)

const (
	// minCompressed is the size in bytes from which a page is compressed. A shorter one fits into one packet.
	minCompressed = 1400
	// maxCompressors is how many pages are compressed at the same time. A gzip writer needs about 1 MB.
	maxCompressors = 2
)

// compressors holds the gzip writers that are not in use. A nil writer has not been created yet.
var compressors = func() chan *gzip.Writer {
	free := make(chan *gzip.Writer, maxCompressors)
	for range maxCompressors {
		free <- nil
	}
	return free
}()

// compress returns a compressed copy of a page, which the caller must release, and sets the headers that describe it. It
// returns nil if the page must be sent as it is. Responses to forms and pages for strangers may contain secrets beside
// texts from a request, so their length must not depend on how similar the two are.
func (x *exchange) compress(page *pageBuffer) *pageBuffer {
	if x.r.Method == http.MethodPost || x.principal.Actor() == "" || page.size < minCompressed {
		return nil
	}
	x.w.Header().Add("Vary", "Accept-Encoding")
	if !web.AcceptsGzip(x.r) {
		return nil
	}
	w := <-compressors
	if w == nil {
		w, _ = gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // fails only if the level is invalid
	}
	defer func() {
		w.Reset(io.Discard) // forgets the page
		compressors <- w
	}()
	compressed := x.newPage()
	w.Reset(compressed)
	for _, chunk := range page.chunks {
		if _, err := w.Write(chunk); err != nil { // there is no memory for a copy
			compressed.release()
			return nil
		}
	}
	if w.Close() != nil {
		compressed.release()
		return nil
	}
	x.w.Header().Set("Content-Encoding", "gzip")
	return compressed
}
