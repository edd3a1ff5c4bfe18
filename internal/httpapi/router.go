package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"animalstore/internal/shop"
)

// endpoint is one API path and the routes for its methods.
type endpoint struct {
	segments []string
	routes   map[string]*route // keyed by method
	allow    string            // the value of the Allow header
	public   bool              // the endpoint needs no API key; this is the same for all of its routes
}

// router finds the endpoint for a path. http.ServeMux is not used because it would redirect paths such as
// /v1//pets. The API responds to such a path with its own 404.
type router struct {
	endpoints []*endpoint
	exact     map[string]*endpoint // the endpoints without path parameters, keyed by path
}

// newRouter groups routes by path. It fails if a route has no scope, so that a forgotten scope cannot make
// an operation public.
func newRouter(routes []route) (*router, error) {
	byPath := map[string]*endpoint{}
	exact := map[string]*endpoint{}
	var all []*endpoint
	for _, r := range routes {
		if r.scope == "" {
			return nil, fmt.Errorf("operation %s has no scope", r.operation)
		}
		e := byPath[r.path]
		if e == nil {
			e = &endpoint{segments: strings.Split(r.path, "/"), routes: map[string]*route{}, public: r.scope == noKey}
			byPath[r.path] = e
			all = append(all, e)
			if !strings.Contains(r.path, "{") {
				exact[r.path] = e
			}
		}
		e.routes[r.method] = &r
		if r.method == http.MethodGet {
			e.routes[http.MethodHead] = &r
		}
	}
	for _, e := range all {
		methods := []string{http.MethodOptions}
		for method := range e.routes {
			methods = append(methods, method)
		}
		slices.Sort(methods)
		e.allow = strings.Join(methods, ", ")
	}
	return &router{all, exact}, nil
}

// find returns the endpoint for a URL and the values of the path parameters. The endpoint is nil if the
// path is unknown.
func (r *router) find(u *url.URL) (*endpoint, []string) {
	if e := r.exact[u.Path]; e != nil && u.RawPath == "" {
		return e, nil
	}
	segments := pathSegments(u)
	for _, e := range r.endpoints {
		if params, ok := e.match(segments); ok {
			return e, params
		}
	}
	return nil, nil
}

// pathSegments returns the decoded segments of a path. A slash that was sent as %2F does not separate
// segments.
func pathSegments(u *url.URL) []string {
	if u.RawPath == "" { // the path has no %2F, because net/url would have kept that in RawPath
		return strings.Split(u.Path, "/")
	}
	segments := strings.Split(u.EscapedPath(), "/")
	for i, segment := range segments {
		if plain, err := url.PathUnescape(segment); err == nil {
			segments[i] = plain
		}
	}
	return segments
}

// match reports whether the segments match the endpoint's path and returns the values of the path
// parameters.
func (e *endpoint) match(segments []string) (params []string, ok bool) {
	if len(segments) != len(e.segments) {
		return nil, false
	}
	for i, want := range e.segments {
		switch {
		case strings.HasPrefix(want, "{") && segments[i] != "":
			params = append(params, segments[i])
		case want != segments[i]:
			return nil, false
		}
	}
	return params, true
}

// pathID returns the first path parameter, which is the id of a resource. It fails with not_found if the
// parameter is not a 64-bit integer, because no resource has such an id.
func (x *exchange) pathID(resource string) (int64, error) { return x.pathIDAt(0, resource) }

// pathIDAt is like pathID but returns the path parameter with the given index.
func (x *exchange) pathIDAt(parameter int, resource string) (int64, error) {
	id, ok := parseInt64(x.params[parameter])
	if !ok {
		return 0, shop.Errorf(shop.NotFound, "There is no %s with this id; an id is an integer of 64 bits.", resource)
	}
	return id, nil
}

// hasPathPrefix reports whether path is equal to root or below it.
func hasPathPrefix(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

func errNoSuchPath() error {
	return shop.Errorf(shop.NotFound, "This path does not exist; /v1/openapi.json lists all operations.")
}

func errMethodNotAllowed(method, allow string) error {
	return shop.Errorf(shop.MethodNotAllowed, "This path does not support the method %s; use one of %s.", method, allow)
}
