package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

const (
	ann        = `"customer":{"name":"Ann Nqzx","phone":"555 0100","email":"ann@example.com"}`
	orderOfAnn = "/v1/store/orders/1"
)

// Only keys with the scope customers get customers back and find their words. The ETag of an order is over what the key sees.
func TestCustomersAreSeenWithTheirScopeOnly(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	partner := s.key(shop.OrdersRead, shop.OrdersWrite)
	staff := s.key(shop.OrdersRead, shop.OrdersWrite, shop.Customers)
	const body = `{"petId":1,"reference":"desk",` + ann + `}`
	placed := s.do("POST", "/v1/store/orders", body, "Authorization: Bearer "+partner, "Idempotency-Key: k")
	placed.want(t, 201, "")
	seen := s.do("GET", orderOfAnn, "", "Authorization: Bearer "+staff)
	hidden := s.do("GET", orderOfAnn, "", "Authorization: Bearer "+partner)
	omitted := s.do("GET", orderOfAnn, "", "Authorization: Bearer "+staff, "Prefer: respond-async, omit=customers")
	if !strings.Contains(string(seen.body), ann) || strings.Contains(string(hidden.body)+string(placed.body), "customer") ||
		string(placed.body) != string(hidden.body) || string(omitted.body) != string(hidden.body) {
		t.Errorf("got %s, %s, %s and %s", seen.body, hidden.body, omitted.body, placed.body)
	}
	if tag := hidden.Header.Get("ETag"); tag == seen.Header.Get("ETag") || tag != omitted.Header.Get("ETag") || tag != placed.Header.Get("ETag") {
		t.Errorf("got the tags %s, %s, %s and %s", seen.Header.Get("ETag"), tag, omitted.Header.Get("ETag"), placed.Header.Get("ETag"))
	}
	for query, found := range map[string][2]int{"desk": {1, 1}, "nqzx": {0, 1}, "ann+desk+555": {0, 1}, "bob": {0, 0}} {
		for i, key := range []string{partner, staff} {
			list := s.do("GET", "/v1/store/orders?q="+query, "", "Authorization: Bearer "+key)
			if orders := parsed[[]json.RawMessage](t, list); len(orders) != found[i] || strings.Contains(string(list.body), "Ann") != (i*found[i] > 0) {
				t.Errorf("%s: key %d got %s", query, i, list.body)
			}
		}
	}
	if list := s.do("GET", "/v1/store/orders?q=nqzx", "", "Authorization: Bearer "+staff, `Prefer: omit="customers"`); string(list.body) != "[]\n" {
		t.Errorf("a search without customers got %s", list.body)
	}
	change := func(key, tag, body string) testResponse {
		return s.do("PATCH", orderOfAnn, body, "Authorization: Bearer "+key, "If-Match: "+tag)
	}
	change(partner, seen.Header.Get("ETag"), `{"customer":{"phone":"1"}}`).wantError(t, 412, shop.PreconditionFailed)
	changed := change(partner, hidden.Header.Get("ETag"), `{"customer":{"phone":null,"name":"Bob"}}`)
	changed = change(staff, s.do("GET", orderOfAnn, "", "Authorization: Bearer "+staff).Header.Get("ETag"), `{"reference":null}`)
	if !strings.Contains(string(changed.body), `"customer":{"name":"Bob","email":"ann@example.com"}`) {
		t.Errorf("changed to %d %s", changed.StatusCode, changed.body)
	}
	s.do("PATCH", orderOfAnn, `{"customer":null}`, "Authorization: Bearer "+partner).want(t, 200, "")
	if now := s.do("GET", orderOfAnn, "", "Authorization: Bearer "+staff); strings.Contains(string(now.body), "customer") {
		t.Errorf("after null: %s", now.body)
	}
}

// A repeat under the same idempotency key comes without the customer, and so does an undo, but with the tag of the order.
func TestRepeatsComeWithoutTheCustomer(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	repeat := func(path, body string, status int) {
		t.Helper()
		first, second := s.do("POST", path, body, "Idempotency-Key: "+path), s.do("POST", path, body, "Idempotency-Key: "+path)
		if !strings.Contains(string(first.body), ann) || strings.Contains(string(second.body), "customer") || second.StatusCode != status ||
			second.Header.Get("Idempotency-Replayed") != "true" || first.Header.Get("ETag") != second.Header.Get("ETag") {
			t.Errorf("got %v %s and %v %s", first.Header, first.body, second.Header, second.body)
		}
	}
	repeat("/v1/store/orders", `{"petId":1,`+ann+`}`, 201)
	s.do("PATCH", orderOfAnn, `{"status":"cancelled"}`).want(t, 200, "")
	repeat(orderOfAnn+"/undo", "", 200)
}

func TestCustomerIsErased(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	placed := s.do("POST", "/v1/store/orders", `{"petId":1,`+ann+`}`)
	const path = orderOfAnn + "/customer"
	s.do("DELETE", path, "", "Authorization: Bearer "+s.key(shop.OrdersRead, shop.OrdersWrite)).wantError(t, 403, shop.InsufficientScope)
	s.do("DELETE", path, "", `If-Match: "other"`).wantError(t, 412, shop.PreconditionFailed)
	s.do("DELETE", "/v1/store/orders/99/customer", "").wantError(t, 404, shop.NotFound)
	s.do("DELETE", "/v1/store/orders/x/customer", "").wantError(t, 404, shop.NotFound)
	s.do("DELETE", path, "", "If-Match: "+placed.Header.Get("ETag")).want(t, 204, "")
	s.do("DELETE", path, "", "Authorization: Bearer "+s.key(shop.Customers)).want(t, 204, "")
	if got := s.do("GET", orderOfAnn, ""); strings.Contains(string(got.body), "customer") {
		t.Errorf("the order is %s", got.body)
	}
	s.do("POST", "/v1/store/orders", `{"petId":1,"customer":{"email":"x","phone":7,"name":null}}`).want(t, 400,
		`{"code":"validation_failed","message":"The body is not valid: customer.name must have 1 to 200 characters, not 0; customer.phone must have 1 to 50 characters, not 0; customer.email must have one @ with text on both sides.","status":400}`)
}
