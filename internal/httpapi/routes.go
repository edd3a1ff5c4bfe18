package httpapi

import (
	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

// route describes one API operation: its method and path, the scope and body that it requires, and its
// handler.
type route struct {
	method    string
	path      string
	operation string // the operationId in the OpenAPI document
	scope     shop.Scope
	body      *bodyRule // nil if the operation takes no body
	success   int       // the usual status of a successful response
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
	json := &bodyRule{[]string{"application/json"}, "plain JSON", false, maxBodyBytes, bodyTimeout, admission.BodyMemory, shop.InvalidJSON}
	patch := &bodyRule{[]string{"application/merge-patch+json", "application/json"}, "plain JSON", false, maxBodyBytes, bodyTimeout, admission.BodyMemory, shop.InvalidJSON}
	file := &bodyRule{[]string{"text/csv", "application/x-ndjson"}, "CSV or NDJSON, in UTF-8", true, maxImportBytes, importTimeout, admission.Imports, shop.InvalidJSON}
	image := &bodyRule{[]string{"image/jpeg", "image/png", "image/webp"}, "a JPEG, PNG or WebP image", true, admission.MaxPhotoBytes, photoTimeout,
		admission.PhotoBodies, shop.InvalidImage}
	return []route{
		{"GET", "/v1/pets", "listPets", shop.PetsRead, nil, 200, (*API).listPets},
		{"POST", "/v1/pets", "createPet", shop.PetsWrite, json, 201, (*API).createPet},
		{"GET", "/v1/pets/{petId}", "getPet", shop.PetsRead, nil, 200, (*API).getPet},
		{"PATCH", "/v1/pets/{petId}", "updatePet", shop.PetsWrite, patch, 200, (*API).updatePet},
		{"DELETE", "/v1/pets/{petId}", "deletePet", shop.PetsWrite, nil, 204, (*API).deletePet},
		{"POST", "/v1/pets/{petId}/restore", "restorePet", shop.PetsWrite, nil, 200, (*API).restorePet},
		{"GET", "/v1/pets/{petId}/profile", "getProfile", shop.PetsRead, nil, 200, (*API).getProfile},
		{"PATCH", "/v1/pets/{petId}/profile", "updateProfile", shop.PetsWrite, patch, 200, (*API).updateProfile},

		{"GET", "/v1/pets/{petId}/photos", "listPhotos", shop.PetsRead, nil, 200, (*API).listPhotos},
		{"POST", "/v1/pets/{petId}/photos", addPhotoOperation, shop.PetsWrite, image, 201, (*API).addPhoto},
		{"GET", "/v1/pets/{petId}/photos/{photoId}", "getPhoto", shop.PetsRead, nil, 200, (*API).getPhoto},
		{"PATCH", "/v1/pets/{petId}/photos/{photoId}", "updatePhoto", shop.PetsWrite, patch, 200, (*API).updatePhoto},
		{"DELETE", "/v1/pets/{petId}/photos/{photoId}", "deletePhoto", shop.PetsWrite, nil, 204, (*API).deletePhoto},

		{"GET", "/v1/profiles", "listProfiles", shop.PetsRead, nil, 200, (*API).listProfiles},

		{"GET", "/v1/categories", "listCategories", shop.PetsRead, nil, 200, (*API).listCategories},
		{"POST", "/v1/categories", "createCategory", shop.PetsWrite, json, 201, (*API).createCategory},
		{"GET", "/v1/categories/{categoryId}", "getCategory", shop.PetsRead, nil, 200, (*API).getCategory},
		{"PUT", "/v1/categories/{categoryId}", "putCategory", shop.PetsWrite, json, 200, (*API).putCategory},
		{"DELETE", "/v1/categories/{categoryId}", "deleteCategory", shop.PetsWrite, nil, 204, (*API).deleteCategory},

		{"GET", "/v1/store", "getStore", anyKey, nil, 200, (*API).getStore},
		{"PATCH", "/v1/store", "updateStore", shop.Admin, patch, 200, (*API).updateStore},
		{"GET", "/v1/store/orders", "listOrders", shop.OrdersRead, nil, 200, (*API).listOrders},
		{"POST", "/v1/store/orders", "placeOrder", shop.OrdersWrite, json, 201, (*API).placeOrder},
		{"GET", "/v1/store/orders/{orderId}", "getOrder", shop.OrdersRead, nil, 200, (*API).getOrder},
		{"PATCH", "/v1/store/orders/{orderId}", "updateOrder", shop.OrdersWrite, patch, 200, (*API).updateOrder},
		{"POST", "/v1/store/orders/{orderId}/undo", "undoOrder", shop.OrdersWrite, nil, 200, (*API).undoOrder},
		{"DELETE", "/v1/store/orders/{orderId}/customer", "eraseCustomer", shop.Customers, nil, 204, (*API).eraseCustomer},
		{"GET", "/v1/store/inventory", "getInventory", shop.PetsRead, nil, 200, (*API).getInventory},

		{"GET", "/v1/events", "listEvents", shop.EventsRead, nil, 200, (*API).listEvents},

		{"POST", "/v1/imports", importOperation, shop.PetsWrite, file, 200, (*API).importPets},
		{"GET", "/v1/exports/pets.csv", "exportPetsCsv", shop.PetsRead, nil, 200, (*API).exportCSV},
		{"GET", "/v1/exports/pets.ndjson", "exportPetsNdjson", shop.PetsRead, nil, 200, (*API).exportNDJSON},

		{"GET", "/v1/keys", "listKeys", shop.Admin, nil, 200, (*API).listKeys},
		{"POST", "/v1/keys", "createKey", shop.Admin, json, 201, (*API).createKey},
		{"GET", "/v1/keys/current", "getCurrentKey", anyKey, nil, 200, (*API).getCurrentKey},
		{"DELETE", "/v1/keys/{keyId}", "revokeKey", shop.Admin, nil, 204, (*API).revokeKey},
		{"POST", "/v1/keys/{keyId}/rotate", "rotateKey", shop.Admin, json, 200, (*API).rotateKey},

		{"GET", "/v1/webhooks", "listWebhooks", shop.Admin, nil, 200, (*API).listWebhooks},
		{"POST", "/v1/webhooks", "createWebhook", shop.Admin, json, 201, (*API).createWebhook},
		{"GET", "/v1/webhooks/{webhookId}", "getWebhook", shop.Admin, nil, 200, (*API).getWebhook},
		{"PATCH", "/v1/webhooks/{webhookId}", "updateWebhook", shop.Admin, patch, 200, (*API).updateWebhook},
		{"DELETE", "/v1/webhooks/{webhookId}", "deleteWebhook", shop.Admin, nil, 204, (*API).deleteWebhook},
		{"POST", "/v1/webhooks/{webhookId}/rotate", "rotateWebhook", shop.Admin, json, 200, (*API).rotateWebhook},
		{"POST", "/v1/webhooks/{webhookId}/test", "testWebhook", shop.Admin, nil, 202, (*API).testWebhook},
		{"GET", "/v1/webhooks/{webhookId}/deliveries", "listDeliveries", shop.Admin, nil, 200, (*API).listDeliveries},
		{"POST", "/v1/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver", "redeliver", shop.Admin, nil, 202, (*API).redeliver},

		{"GET", "/v1/openapi.json", "getOpenapiJson", noKey, nil, 200, (*API).getOpenapiJSON},
		{"GET", "/v1/openapi.yaml", "getOpenapiYaml", noKey, nil, 200, (*API).getOpenapiYAML},

		{"POST", mcpPath, "mcp", anyKey, json, 200, (*API).postMCP},

		{"GET", "/photos/{file}", "photoFile", noKey, nil, 200, (*API).getPhotoFile},
		{"GET", "/docs", "docs", noKey, nil, 200, (*API).getReference},
		{"GET", "/docs/{file}", "docsFile", noKey, nil, 200, (*API).getDocsFile},
		{"GET", "/docs/guides/{guide}", "docsGuide", noKey, nil, 200, (*API).getGuide},
		{"GET", "/livez", "livez", noKey, nil, 200, (*API).livez},
		{"GET", "/readyz", "readyz", noKey, nil, 200, (*API).readyz},
		{"GET", "/metrics", "metrics", shop.Admin, nil, 200, (*API).getMetrics},
		{"GET", "/debug/pprof/", "pprofIndex", shop.Admin, nil, 200, (*API).pprofIndex},
		{"GET", "/debug/pprof/{profile}", "pprof", shop.Admin, nil, 200, (*API).pprof},
	}
}
