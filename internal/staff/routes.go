package staff

import (
	"net/http"
	"strconv"

	"animalstore/internal/shop"
)

// route maps a method and a path to a handler and the scope that the handler requires.
type route struct {
	method string
	path   string
	page   string // the page's name in the log and the metrics
	scope  shop.Scope
	handle func(*Pages, *exchange) error
}

// These values for route.scope require no particular scope.
const (
	anyone   shop.Scope = "anyone"
	signedIn shop.Scope = "signed in"
)

// routes returns every route of the staff pages. A GET route also handles HEAD.
func routes() []route {
	return []route{
		{"GET", "/{$}", "today", signedIn, (*Pages).dashboard},
		{"GET", "/staff", "home", anyone, func(_ *Pages, x *exchange) error { return x.redirect("/") }},
		{"GET", "/staff/{$}", "home-of-staff", anyone, func(_ *Pages, x *exchange) error { return x.redirect("/") }},
		{"GET", "/staff/sign-in", "sign-in", anyone, (*Pages).signInPage},
		{"POST", "/staff/sign-in", "sign-in", anyone, (*Pages).signIn},
		{"GET", "/staff/sign-in/link", "sign-in-link", anyone, (*Pages).openSignInLink},
		{"POST", "/staff/sign-in/link", "sign-in-link", anyone, (*Pages).useSignInLink},
		{"POST", "/staff/sign-out", "sign-out", anyone, (*Pages).signOut},
		{"GET", "/staff/static/{sum}/{name}", "static", anyone, (*Pages).staticFile},
		{"GET", "/staff/manifest.json", "manifest", anyone, (*Pages).manifest},
		{"POST", "/staff/theme", "theme", anyone, (*Pages).setTheme},
		{"GET", "/staff/live", "live", signedIn, (*Pages).live},
		{"GET", "/staff/saved", "saved", signedIn, (*Pages).saved},

		{"GET", "/staff/search", "search", signedIn, (*Pages).search},
		{"GET", "/staff/devices", "devices", signedIn, (*Pages).devices},
		{"POST", "/staff/devices/end", "device-end", signedIn, (*Pages).endDevice},
		{"POST", "/staff/devices/end-others", "devices-end", signedIn, (*Pages).endOtherDevices},
		{"POST", "/staff/devices/link", "device-link", signedIn, (*Pages).createOwnLink},

		{"GET", "/staff/pets", "pets", shop.PetsRead, (*Pages).pets},
		{"POST", "/staff/pets", "pet-add", shop.PetsWrite, (*Pages).addPet},
		{"POST", "/staff/pets/bulk", "pet-bulk", shop.PetsWrite, (*Pages).changePets},
		{"POST", "/staff/pets/undo", "pet-undo", shop.PetsWrite, (*Pages).undoPets},
		{"GET", "/staff/pets/counts", "pets-counts", shop.PetsRead, (*Pages).countPets},
		{"GET", "/staff/pets/fresh", "pets-fresh", shop.PetsRead, (*Pages).newPets},
		{"GET", "/staff/pets/removed", "pets-removed", shop.EventsRead, (*Pages).removedPets},
		{"GET", "/staff/pets/print", "pets-print", shop.PetsRead, (*Pages).printPets},
		{"GET", "/staff/pets/{id}", "pet", shop.PetsRead, byID((*Pages).pet)},
		{"POST", "/staff/pets/{id}", "pet-save", shop.PetsWrite, byID((*Pages).savePet)},
		{"GET", "/staff/pets/{id}/profile/{section}", "profile-edit", shop.PetsWrite, byID((*Pages).editProfile)},
		{"POST", "/staff/pets/{id}/profile/{section}", profileSave, shop.PetsWrite, byID((*Pages).saveProfile)},
		{"POST", "/staff/pets/{id}/photos", photoAdd, shop.PetsWrite, byID((*Pages).addPhotos)},
		{"POST", "/staff/pets/{id}/photos/undo", "photo-undo", shop.PetsWrite, byID((*Pages).undoPhotos)},
		{"POST", "/staff/pets/{id}/photos/{photo}", "photo-save", shop.PetsWrite, byID((*Pages).savePhoto)},
		{"POST", "/staff/pets/{id}/photos/{photo}/delete", "photo-delete", shop.PetsWrite, byID((*Pages).deletePhoto)},
		{"GET", "/staff/pets/{id}/print", "pet-print", shop.PetsRead, byID((*Pages).printCard)},
		{"GET", "/staff/pets/{id}/row", "pet-row", shop.PetsRead, byID((*Pages).petRow)},
		{"GET", "/staff/pets/{id}/edit", "pet-edit", shop.PetsWrite, byID((*Pages).editPet)},
		{"POST", "/staff/pets/{id}/status", "pet-move", shop.PetsWrite, byID((*Pages).setPetStatus)},
		{"POST", "/staff/pets/{id}/restore", "pet-restore", shop.PetsWrite, byID((*Pages).restorePet)},
		{"POST", "/staff/pets/{id}/undo", "pet-add-undo", shop.PetsWrite, byID((*Pages).undoAddedPet)},
		{"POST", "/staff/pets/{id}/delete", "pet-delete", shop.PetsWrite, byID((*Pages).deletePet)},
		{"POST", "/staff/pets/{id}/orders", "order-place", shop.OrdersWrite, byID((*Pages).placeOrder)},

		{"GET", "/staff/orders", "orders", shop.OrdersRead, (*Pages).orders},
		{"GET", "/staff/orders/print", "orders-print", shop.OrdersRead, (*Pages).printOrders},
		{"GET", "/staff/orders/hand-overs", "hand-overs", shop.OrdersRead, (*Pages).printHandOvers},
		{"GET", "/staff/orders/{id}", "order", shop.OrdersRead, byID((*Pages).order)},
		{"POST", "/staff/orders/{id}", "order-save", shop.OrdersWrite, byID((*Pages).saveOrder)},
		{"GET", "/staff/orders/{id}/print", "order-print", shop.OrdersRead, byID((*Pages).printOrder)},
		{"GET", "/staff/orders/{id}/row", "order-row", shop.OrdersRead, byID((*Pages).orderRow)},
		{"POST", "/staff/orders/{id}/hold", "order-hold", shop.OrdersWrite, byID((*Pages).extendHold)},
		{"POST", "/staff/orders/{id}/erase", "customer-erase", shop.Customers, byID((*Pages).eraseCustomer)},
		{"POST", "/staff/orders/{id}/undo", "order-undo", shop.OrdersWrite, byID((*Pages).undoOrderStep)},
		{"POST", "/staff/orders/{id}/status", "order-move", shop.OrdersWrite, byID((*Pages).setOrderStatus)},

		{"GET", "/staff/activity", "activity", shop.EventsRead, (*Pages).activity},
		{"GET", "/staff/activity.csv", "activity-export", shop.EventsRead, (*Pages).exportActivity},

		{"GET", "/staff/categories", "categories", shop.PetsRead, (*Pages).categories},
		{"POST", "/staff/categories", "category-add", shop.PetsWrite, (*Pages).addCategory},
		{"GET", "/staff/categories/suggestions", "categories-suggested", shop.PetsRead, (*Pages).suggestCategories},
		{"POST", "/staff/categories/{id}", "category-save", shop.PetsWrite, byID((*Pages).saveCategory)},
		{"POST", "/staff/categories/{id}/undo", "category-undo", shop.PetsWrite, byID((*Pages).undoCategoryChange)},
		{"POST", "/staff/categories/{id}/delete", "category-delete", shop.PetsWrite, byID((*Pages).deleteCategory)},

		{"GET", "/staff/import", "import", shop.PetsRead, (*Pages).importPage},
		{"POST", "/staff/import", "import-file", shop.PetsWrite, (*Pages).importPets},
		{"POST", "/staff/import/left-out.csv", "import-left", shop.PetsWrite, (*Pages).leftOutRows},
		{"GET", "/staff/import/template.csv", "import-template", shop.PetsRead, (*Pages).importTemplate},
		{"GET", "/staff/export/animals.csv", "export", shop.PetsRead, (*Pages).exportPets},

		{"GET", "/staff/settings", "settings", shop.Admin, (*Pages).settings},
		{"POST", "/staff/settings", "settings-save", shop.Admin, (*Pages).saveSettings},
		{"POST", "/staff/settings/undo", "settings-undo", shop.Admin, (*Pages).undoSettings},

		{"POST", "/staff/settings/window", "window-save", shop.Admin, (*Pages).saveWindow},
		{"GET", "/staff/window", "window-preview", shop.Admin, (*Pages).previewWindow},
		{"GET", "/staff/window/{rest...}", "window-preview-page", shop.Admin, (*Pages).previewWindow},

		{"GET", "/staff/setup/{step}", "setup", shop.Admin, (*Pages).setup},
		{"POST", "/staff/setup/shop", "setup-shop", shop.Admin, (*Pages).saveSetup},
		{"POST", "/staff/setup/demo", "setup-demo", shop.Admin, (*Pages).fillDemo},
		{"GET", "/staff/people", "people", shop.Admin, (*Pages).people},
		{"POST", "/staff/people", "person-add", shop.Admin, (*Pages).addPerson},
		{"POST", "/staff/people/{id}/link", "person-link", shop.Admin, byID((*Pages).createKeyLink)},
		{"POST", "/staff/people/{id}/rotate", "person-rotate", shop.Admin, byID((*Pages).rotateKey)},
		{"POST", "/staff/people/{id}/revoke", "person-revoke", shop.Admin, byID((*Pages).revokeKey)},
		{"GET", "/staff/keys", "keys", anyone, func(_ *Pages, x *exchange) error { return x.redirect("/staff/people") }}, // until 1.1

		{"GET", "/staff/webhooks", "webhooks", shop.Admin, (*Pages).webhooks},
		{"POST", "/staff/webhooks", "webhook-add", shop.Admin, (*Pages).addWebhook},
		{"GET", "/staff/webhooks/{id}", "webhook", shop.Admin, byID((*Pages).webhook)},
		{"POST", "/staff/webhooks/{id}", "webhook-save", shop.Admin, byID((*Pages).saveWebhook)},
		{"POST", "/staff/webhooks/{id}/rotate", "webhook-rotate", shop.Admin, byID((*Pages).rotateWebhook)},
		{"POST", "/staff/webhooks/{id}/test", "webhook-test", shop.Admin, byID((*Pages).testWebhook)},
		{"POST", "/staff/webhooks/{id}/delete", "webhook-delete", shop.Admin, byID((*Pages).deleteWebhook)},
		{"POST", "/staff/webhooks/{id}/deliveries/{delivery}", "redeliver", shop.Admin, byID((*Pages).redeliver)},
	}
}

// hasRoute reports whether any route matches the request's path and the given method.
func (p *Pages) hasRoute(r *http.Request, method string) bool {
	_, pattern := p.mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host})
	return pattern != ""
}

// noRouteError returns the error for a request that matches no route. The error is method_not_allowed if the path
// exists with another method, and not_found if it does not.
func (p *Pages) noRouteError(r *http.Request) error {
	if p.hasRoute(r, http.MethodGet) || p.hasRoute(r, http.MethodPost) {
		return shop.Errorf(shop.MethodNotAllowed, "This address does not accept %s requests; go back and use the form on the page.", p.log.Printable(r.Method))
	}
	return errPageNotFound()
}

func errPageNotFound() error {
	return shop.Errorf(shop.NotFound, "There is no page at this address.")
}

// byID calls a handler with the id in the path. It fails with not_found if that is not an integer.
func byID(handle func(p *Pages, x *exchange, id int64) error) func(*Pages, *exchange) error {
	return func(p *Pages, x *exchange) error {
		id, err := x.pathID("id")
		if err != nil {
			return err
		}
		return handle(p, x, id)
	}
}

// pathID returns the path parameter with the given name. It fails with not_found if the parameter is not an integer.
func (x *exchange) pathID(name string) (int64, error) {
	id, err := strconv.ParseInt(x.r.PathValue(name), 10, 64)
	if err != nil {
		return 0, errPageNotFound()
	}
	return id, nil
}
