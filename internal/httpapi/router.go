package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// endpoint is one path of the interface with the operations on it.
type endpoint struct {
	segments []string
	routes   map[string]*route // by method
	allow    string
}

// open tells whether the place can be reached without a key. All routes of a place agree on that.
func (p *endpoint) open() bool {
	for _, route := range p.routes {
		return route.scope == noKey
	}
	return false
}

// router are all paths of the interface. Most requests are to those without parameters, which are found at once.
type router struct {
	endpoints []*endpoint
	exact     map[string]*endpoint
}

// newRouter puts the routes together that share a path. It refuses a route that does not say who may use it.
func newRouter(routes []route) (*router, error) {
	byPath := map[string]*endpoint{}
	exact := map[string]*endpoint{}
	var all []*endpoint
	for _, r := range routes {
		if r.scope == "" {
			return nil, fmt.Errorf("the operation %s has no scope", r.operation)
		}
		p := byPath[r.path]
		if p == nil {
			p = &endpoint{segments: strings.Split(r.path, "/"), routes: map[string]*route{}}
			byPath[r.path] = p
			all = append(all, p)
			if !strings.Contains(r.path, "{") {
				exact[r.path] = p
			}
		}
		p.routes[r.method] = &r
		if r.method == http.MethodGet {
			p.routes[http.MethodHead] = &r
		}
	}
	for _, p := range all {
		methods := []string{http.MethodOptions}
		for method := range p.routes {
			methods = append(methods, method)
		}
		slices.Sort(methods)
		p.allow = strings.Join(methods, ", ")
	}
	return &router{all, exact}, nil
}

// find returns the place of a path and the values of its parameters, or nil. It is http.ServeMux's work, done here
// because that one redirects /v1//pets and the like instead of saying that there is no such path.
func (p *router) find(escapedPath string) (*endpoint, []string) {
	if place := p.exact[escapedPath]; place != nil {
		return place, nil
	}
	segments := strings.Split(escapedPath, "/")
	for i, segment := range segments {
		if plain, err := url.PathUnescape(segment); err == nil {
			segments[i] = plain
		}
	}
	for _, place := range p.endpoints {
		if params, ok := place.match(segments); ok {
			return place, params
		}
	}
	return nil, nil
}

// match returns the values of the parameters.
func (p *endpoint) match(segments []string) (params []string, ok bool) {
	if len(segments) != len(p.segments) {
		return nil, false
	}
	for i, want := range p.segments {
		switch {
		case strings.HasPrefix(want, "{") && segments[i] != "":
			params = append(params, segments[i])
		case want != segments[i]:
			return nil, false
		}
	}
	return params, true
}
