package httpapi

import (
	"net/http"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// resourceTag returns the entity tag for a single resource.
func resourceTag[T any](resource T) string { return shop.EntityTag(encode(resource)) }

// preconditions returns the precondition that the If-Match and If-None-Match headers express, or nil if the request has
// neither header. It is meant for requests whose resource must exist.
func preconditions[T any](x *exchange) shop.Precondition[T] {
	match, noneMatch := ifMatch[T](x), ifNoneMatch[T](x)
	switch {
	case noneMatch == nil:
		return match
	case match == nil:
		return noneMatch
	}
	return func(resource T) bool { return match(resource) && noneMatch(resource) }
}

// ifMatch returns the precondition that the If-Match header expresses, or nil if the header is missing.
func ifMatch[T any](x *exchange) shop.Precondition[T] {
	fields := x.r.Header.Values("If-Match")
	if len(fields) == 0 {
		return nil
	}
	return func(resource T) bool { return web.MatchesTag(fields, resourceTag(resource), false) }
}

// ifNoneMatch is like ifMatch, but for the If-None-Match header of a request that changes a resource.
func ifNoneMatch[T any](x *exchange) shop.Precondition[T] {
	fields := x.r.Header.Values("If-None-Match")
	if len(fields) == 0 {
		return nil
	}
	return func(resource T) bool { return !web.MatchesTag(fields, resourceTag(resource), true) }
}

// sendWithETag sends a response that clients may cache and revalidate with its entity tag. If the client already has
// the current version, it sends status 304 without a body.
func (x *exchange) sendWithETag(cacheControl, contentType []string, tag string, body ...[]byte) {
	h := x.w.Header()
	h["Cache-Control"] = cacheControl
	h["Etag"] = []string{tag}
	if web.MatchesTag(x.r.Header.Values("If-None-Match"), tag, true) {
		h.Del("Content-Encoding") // there is no content
		x.w.WriteHeader(http.StatusNotModified)
		return
	}
	x.send(http.StatusOK, contentType, body...)
}
