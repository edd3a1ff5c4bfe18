package httpapi

import "animalstore/internal/shop"

// route describes one API operation: its method and path, the scope and body that it requires, and its
// handler.
type route struct {
	method    string
	path      string
	operation string // the operationId in the OpenAPI document
	scope     shop.Scope
	body      *bodyRule // nil if the operation takes no body
	handle    func(*API, *exchange) error
}

// Pseudo-scopes for routes that do not require the key to have a scope. Every route must have a scope or a
// pseudo-scope.
const (
	noKey  shop.Scope = "none" // public, without an API key
	anyKey shop.Scope = "any"  // any valid key
)

// routes returns all operations that the API offers. GET includes HEAD, and every path supports OPTIONS.
func routes() []route {
	json := &bodyRule{[]string{"application/json"}, "plain JSON", false, maxBodyBytes, bodyTimeout}
	patch := &bodyRule{[]string{"application/merge-patch+json", "application/json"}, "plain JSON", false, maxBodyBytes, bodyTimeout}
	file := &bodyRule{[]string{"text/csv", "application/x-ndjson"}, "CSV or NDJSON, in UTF-8", true, maxImportBytes, importTimeout}
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
