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
}

// isPublic reports whether the endpoint needs no API key. All routes of an endpoint agree on that.
func (e *endpoint) isPublic() bool {
	for _, route := range e.routes {
		return route.scope == noKey
	}
	return false
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
			e = &endpoint{segments: strings.Split(r.path, "/"), routes: map[string]*route{}}
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

// find returns the endpoint of a path, or nil, and the values of the path's parameters.
func (r *router) find(escapedPath string) (*endpoint, []string) {
	if e := r.exact[escapedPath]; e != nil {
		return e, nil
	}
	segments := strings.Split(escapedPath, "/")
	for i, segment := range segments {
		if plain, err := url.PathUnescape(segment); err == nil {
			segments[i] = plain
		}
	}
	for _, e := range r.endpoints {
		if params, ok := e.match(segments); ok {
			return e, params
		}
	}
	return nil, nil
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
