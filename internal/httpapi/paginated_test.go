package httpapi

import (
	"fmt"
	"testing"

	"animalstore/internal/shop"
)

// Every list is paginated. Filters combine and apply to all pages. Invalid parameters are refused.
func TestListsArePaginated(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for pet := range 3 {
		s.add(fmt.Sprintf(`{"name":"Rex","categoryId":%d,"status":"available"}`, pet-1))
		for range 3 { // two orders are cancelled and one stays open
			got := s.do("POST", "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, pet+1))
			if id := got.order(t).ID; id%3 != 0 {
				s.do("PATCH", fmt.Sprintf("/v1/store/orders/%d", id), `{"status":"cancelled"}`).want(t, 200, "")
			}
		}
		s.key(shop.PetsRead)
		s.do("POST", "/v1/webhooks", example).want(t, 201, "")
	}
	s.do("PATCH", "/v1/webhooks/1", `{"enabled":false}`).want(t, 200, "") // no more events are delivered
	for range 3 {
		s.do("POST", "/v1/webhooks/1/test", "").want(t, 202, "") // creates deliveries 1 to 3, which fail
	}
	s.deliver(t, shop.Attempt{Status: 500})
	s.do("POST", "/v1/webhooks/1/test", "").want(t, 202, "") // creates delivery 4, which stays pending
	s.do("POST", "/v1/webhooks/2/test", "").want(t, 202, "") // creates a delivery to the other webhook
	for list, queries := range map[string]map[string]string{
		"/v1/categories": {"": "-1 0 1", "limit=2": "-1 0 1", "limit=1&unknown=x": "-1 0 1"},
		"/v1/keys":       {"": "3 2 1", "limit=2": "3 2 1"},
		"/v1/webhooks":   {"": "3 2 1", "limit=2": "3 2 1"},
		"/v1/webhooks/1/deliveries": {"": "4 3 2 1", "limit=3": "4 3 2 1", "limit=1": "4 3 2 1", "status=failed": "3 2 1", "status=failed&limit=1": "3 2 1",
			"status=succeeded": "", "status=pending": "4", "unknown=x": "4 3 2 1"},
		"/v1/store/orders": {"": "9 8 7 6 5 4 3 2 1", "limit=2": "9 8 7 6 5 4 3 2 1", "status=cancelled&limit=4": "8 7 5 4 2 1", "status=placed": "9 6 3",
			"petId=2": "6 5 4", "petId=2&status=placed&limit=1": "6", "petId=99": "", "status=expired": "", "petId=-1&unknown=x": ""},
	} {
		for query, want := range queries {
			s.wantPages(t, list+"?"+query, want)
		}
		for _, query := range []string{"limit=0", "limit=101", "limit=1&limit=1", "limit=%zz"} {
			s.do("GET", list+"?"+query, "").wantError(t, 400, shop.InvalidParameter)
		}
		s.do("GET", list+"?cursor=x", "").wantError(t, 400, shop.InvalidCursor)
	}
	for list, queries := range map[string][]string{
		"/v1/webhooks/1/deliveries":  {"status=", "status=sent", "status=failed&status=failed"},
		"/v1/webhooks/99/deliveries": {"status=sent"},
		"/v1/store/orders":           {"status=", "status=sold", "status=placed&status=placed", "petId=x", "petId=", "petId=1&petId=1", "petId=9223372036854775808"},
	} {
		for _, query := range queries {
			s.do("GET", list+"?"+query, "").wantError(t, 400, shop.InvalidParameter)
		}
	}
}
