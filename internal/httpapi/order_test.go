package httpapi

import (
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
)

func (a testResponse) order(t *testing.T) shop.Order { return parsed[shop.Order](t, a) }

func TestOrderLifecycle(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	placed := s.do("POST", "/v1/store/orders", `{"petId":1,"reference":"basket 4711 🧺","id":9,"status":"delivered"}`)
	placed.want(t, 201, "")
	order := placed.order(t)
	if order.ID != 1 || order.PetID != 1 || order.Status != shop.Placed || order.Reference != "basket 4711 🧺" ||
		order.CreatedAt != order.UpdatedAt || order.HoldExpiresAt.Sub(order.CreatedAt) != 72*time.Hour ||
		placed.Header.Get("Location") != "/v1/store/orders/1" {
		t.Errorf("placed %s", placed.body)
	}
	s.do("GET", "/v1/pets", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1,"status":"pending"}]`)
	inventory := s.do("GET", "/v1/store/inventory", "").want(t, 200, `{"available":0,"pending":1,"sold":0,"unspecified":0}`)
	s.do("GET", "/v1/store/inventory", "", "If-None-Match: "+inventory.Header.Get("ETag")).want(t, 304, "")
	s.do("POST", "/v1/store/orders", `{"petId":99}`).wantError(t, 404, shop.PetNotFound)
	got := s.do("GET", "/v1/store/orders/1", "")
	got.want(t, 200, strings.TrimSpace(string(placed.body)))
	s.do("GET", "/v1/store/orders/1", "", "If-None-Match: "+got.Header.Get("ETag")).want(t, 304, "")
	s.do("POST", "/v1/store/orders", `{"petId":1}`).wantError(t, 409, shop.PetNotAvailable)
	s.do("PATCH", "/v1/pets/1", `{"status":"available"}`).wantError(t, 409, shop.PetHasOpenOrder)
	s.do("DELETE", "/v1/pets/1", "").wantError(t, 409, shop.PetHasOpenOrder)
	s.do("PATCH", "/v1/store/orders/1", `{"status":"delivered"}`).wantError(t, 409, shop.InvalidTransition)

	const orderPath = "/v1/store/orders/1"
	changed := s.do("PATCH", orderPath, `{"reference":null,"holdExpiresAt":"`+order.HoldExpiresAt.Add(time.Hour).Format(time.RFC3339)+`"}`,
		"If-Match: "+placed.Header.Get("ETag"))
	if o := changed.order(t); o.Reference != "" || strings.Contains(string(changed.body), "reference") ||
		o.HoldExpiresAt != order.HoldExpiresAt.Add(time.Hour).Truncate(time.Second) || o.Status != shop.Placed {
		t.Errorf("changed to %s", changed.body)
	}
	s.do("PATCH", orderPath, `{"reference":"x"}`, "If-Match: "+placed.Header.Get("ETag")).wantError(t, 412, shop.PreconditionFailed)
	if now := s.do("GET", orderPath, "").Header.Get("ETag"); now != changed.Header.Get("ETag") {
		t.Errorf("the ETag is %s after a change that returned %s", now, changed.Header.Get("ETag"))
	}
	s.do("PATCH", orderPath, `{}`).want(t, 200, strings.TrimSpace(string(changed.body)))

	s.Clock.Forward(time.Minute)
	approved := s.do("PATCH", "/v1/store/orders/1", `{"status":"approved"}`)
	if o := approved.order(t); o.Status != shop.Approved || !o.HoldExpiresAt.IsZero() || !o.UpdatedAt.After(order.UpdatedAt) ||
		o.CreatedAt != order.CreatedAt {
		t.Errorf("approved to %s", approved.body)
	}
	s.do("PATCH", "/v1/store/orders/1", `{"status":"approved"}`).want(t, 200, strings.TrimSpace(string(approved.body)))
	s.do("PATCH", "/v1/store/orders/1", `{"status":"delivered","reference":"basket 4712"}`).want(t, 200, "")
	s.do("PATCH", "/v1/store/orders/1", `{"reference":null}`).wantError(t, 409, shop.InvalidTransition)
	s.do("PATCH", "/v1/pets/1", `{"status":"pending"}`).wantError(t, 409, shop.InvalidTransition)
	s.do("GET", "/v1/pets", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1,"status":"sold"}]`)
}

// The day of pick-up and the price are optional, can be removed with null, and survive the steps of an order.
func TestOrderHasADayOfPickupAndAPrice(t *testing.T) {
	s := parallelShop(t)
	const orderPath = "/v1/store/orders/1"
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	s.do("PATCH", "/v1/pets/1/profile", `{"price":{"amount":"250.00","currency":"EUR"}}`).want(t, 200, "")
	want := func(r testResponse, pickup, amount string) {
		t.Helper()
		if o := r.order(t); o.PickupDate != pickup || o.Price.Amount != amount {
			t.Errorf("got %d %s, want the day %q and the amount %q", r.StatusCode, r.body, pickup, amount)
		}
	}
	s.do("POST", "/v1/store/orders", `{"petId":1,"pickupDate":"tomorrow","price":{"amount":"1.234","currency":"EUR"}}`).want(t, 400,
		`{"code":"validation_failed","message":"The body is not valid: pickupDate must be a date such as 2026-05-31; price.amount must have at most 2 digits after the point in EUR.","status":400}`)
	want(s.do("POST", "/v1/store/orders", `{"petId":1,"pickupDate":"2026-12-05"}`), "2026-12-05", "250.00")
	want(s.do("PATCH", orderPath, `{"price":{"amount":"9","currency":"JPY"}}`), "2026-12-05", "9")
	want(s.do("PATCH", orderPath, `{"status":"approved"}`), "2026-12-05", "9")
	for path, found := range map[string]int{"": 1, "&status=approved": 1, "&petId=1": 1, "&status=placed": 0, "&petId=2": 0} {
		if got := parsed[[]shop.Order](t, s.do("GET", "/v1/store/orders?pickupDate=2026-12-05"+path, "")); len(got) != found {
			t.Errorf("found %v with %s", got, path)
		}
	}
	s.do("GET", "/v1/store/orders?pickupDate=2026-12-06", "").want(t, 200, "[]")
	s.do("GET", "/v1/store/orders?pickupDate=x", "").wantError(t, 400, shop.InvalidParameter)
	want(s.do("PATCH", orderPath, `{"status":"delivered"}`), "2026-12-05", "9")
	s.do("PATCH", orderPath, `{"pickupDate":null}`).wantError(t, 409, shop.InvalidTransition)
	want(s.do("POST", orderPath+"/undo", ""), "2026-12-05", "9")
	want(s.do("PATCH", orderPath, `{"pickupDate":null,"price":null}`), "", "")
	s.do("PATCH", orderPath, `{"status":"cancelled"}`).want(t, 200, "")
	want(s.do("POST", "/v1/store/orders", `{"petId":1,"price":null}`), "", "")
}

func TestUndoOrder(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	s.do("POST", "/v1/store/orders", `{"petId":1}`).want(t, 201, "")
	const orderPath, undo = "/v1/store/orders/1", "/v1/store/orders/1/undo"
	s.do("POST", undo, "").wantError(t, 409, shop.UndoNotPossible)
	s.do("POST", "/v1/store/orders/99/undo", "").wantError(t, 404, shop.NotFound)
	s.do("POST", "/v1/store/orders/x/undo", "").wantError(t, 404, shop.NotFound)
	s.do("PATCH", orderPath, `{"status":"approved"}`).want(t, 200, "")
	delivered := s.do("PATCH", orderPath, `{"status":"delivered"}`)
	s.do("POST", undo, "", `If-Match: "other"`).wantError(t, 412, shop.PreconditionFailed)
	s.do("POST", undo, "", `Idempotency-Key: "`).wantError(t, 400, shop.InvalidParameter)
	var first testResponse
	for i := range 2 {
		undone := s.do("POST", undo, "", "Idempotency-Key: k", "If-Match: "+delivered.Header.Get("ETag"))
		if undone.want(t, 200, ""); i == 0 {
			first = undone
		}
		if string(undone.body) != string(first.body) || undone.order(t).ID != 1 || undone.order(t).Status != shop.Approved ||
			undone.Header.Get("Idempotency-Replayed") != []string{"", "true"}[i] {
			t.Errorf("undone, %d: %v %s", i, undone.Header, undone.body)
		}
	}
	s.do("POST", "/v1/store/orders/2/undo", "", "Idempotency-Key: k").wantError(t, 422, shop.IdempotencyKeyReused)
	if got := s.do("GET", orderPath, ""); string(got.body) != string(first.body) || got.Header.Get("ETag") != first.Header.Get("ETag") {
		t.Errorf("the order is %s, with the ETag %s", got.body, got.Header.Get("ETag"))
	}
	s.do("GET", "/v1/pets", "").want(t, 200, `[{"id":1,"name":"Rex","categoryId":1,"status":"pending"}]`)
	s.do("POST", undo, "").wantError(t, 409, shop.UndoNotPossible)
	s.do("PATCH", orderPath, `{"status":"cancelled"}`).want(t, 200, "")
	s.do("PATCH", "/v1/pets/1", `{"status":"sold"}`).want(t, 200, "")
	s.do("POST", undo, "").want(t, 409, `{"code":"undo_not_possible","message":"The status of animal 1 has changed since order 1 became cancelled.","status":409}`)
}
