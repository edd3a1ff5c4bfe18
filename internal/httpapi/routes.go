package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"animalstore/internal/shop"
)

// route is one operation: what is asked, by whom, with what body, and who answers.
type route struct {
	method    string
	path      string
	operation string
	scope     shop.Scope
	body      *bodyRule // nil: it takes none
	handle    func(*API, *call) error
}

// Marks in the place of a scope; no key can have them. A route without scope or mark is refused.
const (
	noKey  shop.Scope = "none" // needs no key
	anyKey shop.Scope = "any"  // needs a key, whatever it may do
)

// routes is the whole map of the interface. HEAD goes wherever GET goes, and OPTIONS everywhere.
func routes() []route {
	json := &bodyRule{[]string{"application/json"}, "plain JSON", false, maxBody, bodyTimeout}
	patch := &bodyRule{[]string{"application/merge-patch+json", "application/json"}, "plain JSON", false, maxBody, bodyTimeout}
	file := &bodyRule{[]string{"text/csv", "application/x-ndjson"}, "CSV or NDJSON, in UTF-8", true, maxImport, importTimeout}
	return []route{
		{"GET", "/v1/pets", "listPets", shop.PetsRead, nil, (*API).listPets},
		{"POST", "/v1/pets", "createPet", shop.PetsWrite, json, (*API).createPet},
		{"GET", "/v1/pets/{petId}", "getPet", shop.PetsRead, nil, (*API).getPet},
		{"PATCH", "/v1/pets/{petId}", "updatePet", shop.PetsWrite, patch, (*API).updatePet},
		{"DELETE", "/v1/pets/{petId}", "deletePet", shop.PetsWrite, nil, (*API).deletePet},

		{"GET", "/v1/categories", "listCategories", shop.PetsRead, nil, (*API).listCategories},
		{"POST", "/v1/categories", "createCategory", shop.PetsWrite, json, (*API).createCategory},
		{"GET", "/v1/categories/{categoryId}", "getCategory", shop.PetsRead, nil, (*API).getCategory},
		{"PUT", "/v1/categories/{categoryId}", "putCategory", shop.PetsWrite, json, (*API).putCategory},
		{"DELETE", "/v1/categories/{categoryId}", "deleteCategory", shop.PetsWrite, nil, (*API).deleteCategory},

		{"GET", "/v1/store/orders", "listOrders", shop.OrdersRead, nil, (*API).listOrders},
		{"POST", "/v1/store/orders", "placeOrder", shop.OrdersWrite, json, (*API).placeOrder},
		{"GET", "/v1/store/orders/{orderId}", "getOrder", shop.OrdersRead, nil, (*API).getOrder},
		{"PATCH", "/v1/store/orders/{orderId}", "updateOrder", shop.OrdersWrite, patch, (*API).updateOrder},
		{"GET", "/v1/store/inventory", "getInventory", shop.PetsRead, nil, (*API).getInventory},

		{"GET", "/v1/events", "listEvents", shop.EventsRead, nil, (*API).listEvents},

		{"POST", "/v1/imports", importOperation, shop.PetsWrite, file, (*API).importPets},
		{"GET", "/v1/exports/pets.csv", "exportPetsCsv", shop.PetsRead, nil, (*API).exportCSV},
		{"GET", "/v1/exports/pets.ndjson", "exportPetsNdjson", shop.PetsRead, nil, (*API).exportNDJSON},

		{"GET", "/v1/keys", "listKeys", shop.Admin, nil, (*API).listKeys},
		{"POST", "/v1/keys", "createKey", shop.Admin, json, (*API).createKey},
		{"GET", "/v1/keys/current", "getCurrentKey", anyKey, nil, (*API).getCurrentKey},
		{"DELETE", "/v1/keys/{keyId}", "revokeKey", shop.Admin, nil, (*API).revokeKey},
		{"POST", "/v1/keys/{keyId}/rotate", "rotateKey", shop.Admin, json, (*API).rotateKey},

		{"GET", "/v1/webhooks", "listWebhooks", shop.Admin, nil, (*API).listWebhooks},
		{"POST", "/v1/webhooks", "createWebhook", shop.Admin, json, (*API).createWebhook},
		{"GET", "/v1/webhooks/{webhookId}", "getWebhook", shop.Admin, nil, (*API).getWebhook},
		{"PATCH", "/v1/webhooks/{webhookId}", "updateWebhook", shop.Admin, patch, (*API).updateWebhook},
		{"DELETE", "/v1/webhooks/{webhookId}", "deleteWebhook", shop.Admin, nil, (*API).deleteWebhook},
		{"POST", "/v1/webhooks/{webhookId}/rotate", "rotateWebhook", shop.Admin, json, (*API).rotateWebhook},
		{"POST", "/v1/webhooks/{webhookId}/test", "testWebhook", shop.Admin, nil, (*API).testWebhook},
		{"GET", "/v1/webhooks/{webhookId}/deliveries", "listDeliveries", shop.Admin, nil, (*API).listDeliveries},
		{"POST", "/v1/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver", "redeliver", shop.Admin, nil, (*API).redeliver},

		{"GET", "/v1/openapi.json", "getOpenapiJson", noKey, nil, (*API).getOpenapiJSON},
		{"GET", "/v1/openapi.yaml", "getOpenapiYaml", noKey, nil, (*API).getOpenapiYAML},

		{"GET", "/docs", "docs", noKey, nil, (*API).getReference},
		{"GET", "/docs/{file}", "docsFile", noKey, nil, (*API).getDocsFile},
		{"GET", "/livez", "livez", noKey, nil, (*API).livez},
		{"GET", "/readyz", "readyz", noKey, nil, (*API).readyz},
		{"GET", "/metrics", "metrics", shop.Admin, nil, (*API).getMetrics},
		{"GET", "/debug/pprof/", "pprofIndex", shop.Admin, nil, (*API).pprofIndex},
		{"GET", "/debug/pprof/{profile}", "pprof", shop.Admin, nil, (*API).pprof},
	}
}

// place is one path of the interface with the operations on it.
type place struct {
	segments []string
	routes   map[string]*route // by method
	allow    string
}

// open tells whether the place can be reached without a key. All routes of a place agree on that.
func (p *place) open() bool {
	for _, route := range p.routes {
		return route.scope == noKey
	}
	return false
}

// places are all paths of the interface. Most requests are to those without parameters, which are found at once.
type places struct {
	all   []*place
	exact map[string]*place
}

// newPlaces puts the routes together that share a path. It refuses a route that does not say who may use it.
func newPlaces(routes []route) (*places, error) {
	byPath := map[string]*place{}
	exact := map[string]*place{}
	var all []*place
	for _, r := range routes {
		if r.scope == "" {
			return nil, fmt.Errorf("the operation %s has no scope", r.operation)
		}
		p := byPath[r.path]
		if p == nil {
			p = &place{segments: strings.Split(r.path, "/"), routes: map[string]*route{}}
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
	return &places{all, exact}, nil
}

// find returns the place of a path and the values of its parameters, or nil. It is http.ServeMux's work, done here
// because that one redirects /v1//pets and the like instead of saying that there is no such path.
func (p *places) find(escapedPath string) (*place, []string) {
	if place := p.exact[escapedPath]; place != nil {
		return place, nil
	}
	segments := strings.Split(escapedPath, "/")
	for i, segment := range segments {
		if plain, err := url.PathUnescape(segment); err == nil {
			segments[i] = plain
		}
	}
	for _, place := range p.all {
		if params, ok := place.match(segments); ok {
			return place, params
		}
	}
	return nil, nil
}

// match returns the values of the parameters.
func (p *place) match(segments []string) (params []string, ok bool) {
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
