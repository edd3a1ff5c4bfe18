package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// endpoint is one path of the API with its routes.
type endpoint struct {
	segments []string
	routes   map[string]*route // by method
	allow    string            // the value of the Allow header
	public   bool              // the endpoint needs no API key; all of its routes agree on that
}

// router finds the endpoint of a path. http.ServeMux would redirect /v1//pets and the like, where the API
// responds with its own 404.
type router struct {
	endpoints []*endpoint
	exact     map[string]*endpoint // those without parameters
}

// newRouter groups routes by path. It fails if a route has no scope: a forgotten scope must not make an
// operation public.
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

// find returns the endpoint of a URL's path, or nil, and the values of the path's parameters.
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

// pathSegments returns the decoded segments of a path. A slash that was sent as %2F belongs to its segment.
func pathSegments(u *url.URL) []string {
	if u.RawPath == "" { // no %2F: net/url would have kept it in RawPath
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

// match reports whether a path's segments are those of the endpoint, and returns the values of its parameters.
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
