package window

import (
	"encoding/json"
	"net/http"
	"strconv"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// These values are shared by all responses, so they must not be modified.
var (
	publicNoCache  = []string{"public, no-cache"} // any cache may keep the response, and must ask before each use
	noCache        = []string{"no-cache"}
	forever        = []string{"public, max-age=31536000, immutable"}
	anyOrigin      = []string{"*"}
	exposedHeaders = []string{"ETag, Link"}
	nosniff        = []string{"nosniff"}
	sameOrigin     = []string{"same-origin"}
	noIndex        = []string{"noindex"}
	sandboxed      = []string{"default-src 'none'; frame-ancestors 'none'; sandbox"}
)

const (
	htmlType    = "text/html; charset=utf-8"
	jsonType    = "application/json"
	atomType    = "application/atom+xml; charset=utf-8"
	sitemapType = "application/xml; charset=utf-8"
)

// contentPolicy allows pages to load only styles and images from this service, and no scripts at all. The sites that may
// show the page in a frame follow.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "

// response is the part of a response that is the same for everybody.
type response struct {
	status int
	file   *web.StaticFile
	size   int
	policy []string // the Content-Security-Policy
	next   string   // the path and query of the next page of a list, or ""
	on     bool     // whether the window is switched on, in the response that says only this
}

// newResponse returns a response with this body.
func newResponse(status int, contentType string, body []byte) *response {
	return &response{status: status, file: web.NewStaticFile(contentType, body), size: len(body), policy: sandboxed}
}

// Bytes returns how much memory the response may take, also when it is compressed.
func (r *response) Bytes() int { return r.size + r.size/2 + len(r.next) }

// setHeaders sets the headers of every response.
func (x *exchange) setHeaders() {
	h := x.w.Header()
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = sameOrigin
	if x.Service.Environment() == shop.Staging {
		h["X-Robots-Tag"] = noIndex
	}
	web.RequireTLS(h, x.TLS, x.PublicURL)
}

// send sends a response that caches may keep, but must confirm before each use. It fails if responses that have not been
// read yet take up too much memory.
func (x *exchange) send(r *response) error {
	slot, err := x.Limits.HoldSent(admission.SentPhotos, r.size)
	if err != nil {
		return errBusy()
	}
	defer slot.Release()
	x.slot.Release() // a client that reads slowly must not block others
	h := x.w.Header()
	h["Content-Security-Policy"] = r.policy
	body, tag := r.file.Select(h, x.r)
	switch {
	case x.preview:
		h.Set("Cache-Control", "no-store")
	case r.status != http.StatusOK:
		h["Cache-Control"] = noCache
	default:
		h["Cache-Control"], h["Etag"] = publicNoCache, []string{tag}
		if r.next != "" {
			h["Link"] = []string{"<" + r.next + `>; rel="next"`}
		}
		if web.MatchesTag(x.r.Header.Values("If-None-Match"), tag, true) {
			h.Del("Content-Encoding") // there is no content
			h.Del("Content-Type")
			x.w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	x.write(r.status, body)
	return nil
}

func (x *exchange) write(status int, body []byte) {
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		x.w.Write(body) // fails only if the client has disconnected
	}
}

// sendError sends an error: as JSON to readers of JSON, otherwise as a page.
func (x *exchange) sendError(e *shop.Error) {
	status, h := web.Status[e.Code], x.w.Header()
	web.SetRetryAfter(h, e)
	h.Del("Etag")
	h.Del("Content-Encoding")
	h["Cache-Control"], h["Content-Security-Policy"] = noCache, sandboxed
	if x.name == "json" {
		body, err := json.Marshal(struct {
			Code    shop.Code `json:"code"`
			Message string    `json:"message"`
			Status  int       `json:"status"`
		}{e.Code, e.Message, status})
		if err != nil {
			panic(err) // cannot happen, because it consists of texts
		}
		h.Set("Content-Type", jsonType)
		x.write(status, append(body, '\n'))
		return
	}
	v := view{exchange: x, Title: errorTitle(status), Back: status != http.StatusNotFound || x.Service.CurrentSettings().Window.Enabled, Data: e.Message}
	body, err := x.render("error", v)
	if err != nil {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		x.write(status, []byte(e.Message+"\n"))
		return
	}
	h.Set("Content-Security-Policy", contentPolicy+"'none'")
	h.Set("Content-Type", htmlType)
	x.write(status, body)
}

func errorTitle(status int) string {
	switch {
	case status == http.StatusNotFound:
		return "Page not found"
	case status >= 500 || status == http.StatusTooManyRequests:
		return "Please try again"
	}
	return "This does not work"
}
