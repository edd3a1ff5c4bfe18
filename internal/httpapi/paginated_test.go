package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// Every list is paginated. Filters combine and apply to all pages. Invalid parameters are refused.
func TestListsArePaginated(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for pet := range 3 {
		s.add(fmt.Sprintf(`{"name":"Rex","categoryId":%d,"status":"available"}`, pet-1))
		for range 2 { // the odd order is cancelled and the even one stays open
			got := s.do("POST", "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, pet+1))
			if id := got.order(t).ID; id%2 != 0 {
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
		"/v1/categories": {"": "-1 0 1", "limit=2&unknown=x": "-1 0 1"},
		"/v1/keys":       {"": "3 2 1", "limit=2": "3 2 1"},
		"/v1/webhooks":   {"": "3 2 1", "limit=2": "3 2 1"},
		"/v1/webhooks/1/deliveries": {
			"": "4 3 2 1", "limit=3": "4 3 2 1", "status=failed&limit=1": "3 2 1", "status=succeeded": "", "status=pending": "4",
		},
		"/v1/store/orders": {
			"": "6 5 4 3 2 1", "limit=2": "6 5 4 3 2 1", "status=cancelled&limit=2": "5 3 1", "petId=2": "4 3",
			"petId=2&status=placed&limit=1": "4", "petId=99": "",
		},
	} {
		for query, want := range queries {
			s.wantPages(t, list+"?"+query, want)
		}
		for _, query := range []string{"limit=0", "limit=101", "limit=1&limit=1", "limit=%zz"} {
			s.do("GET", list+"?"+query, "").wantError(t, 400, shop.InvalidParameter)
		}
		s.do("GET", list+"?cursor=x", "").wantError(t, 400, shop.InvalidCursor)
	}
	for _, path := range []string{
		"/v1/webhooks/1/deliveries?status=", "/v1/webhooks/1/deliveries?status=failed&status=failed", "/v1/webhooks/99/deliveries?status=sent",
		"/v1/store/orders?status=sold", "/v1/store/orders?petId=x", "/v1/store/orders?petId=1&petId=1",
	} {
		s.do("GET", path, "").wantError(t, 400, shop.InvalidParameter)
	}
}

// A client reads all pages while others add animals. It sees every animal that existed from the start exactly
// once and no animal twice. This holds for any page size and filter.
func TestPaginationDuringInserts(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		for i := range 30 {
			s.AddPet(t, []string{"Rex", "Mia"}[i%2], int64(i%3), []shop.Status{"", shop.Available, shop.Sold}[i/2%3])
		}
		for _, filter := range []string{"", "&status=available", "&status=sold&categoryId=2", "&q=rEX"} {
			for _, limit := range []int{1, 4, 7, 100} {
				before := s.do("GET", "/v1/pets?limit=100"+filter, "")
				path, seen := fmt.Sprintf("/v1/pets?limit=%d%s", limit, filter), []shop.Pet{}
				for path != "" {
					page := s.do("GET", path, "")
					seen, path = append(seen, page.pets(t)...), page.link("next")
					if len(seen) <= limit { // after the first page
						s.AddPet(t, "Rex", 2, shop.Available)
						s.AddPet(t, "Rex", 2, shop.Sold)
					}
				}
				if got, want := string(encode(seen)), strings.TrimSpace(string(before.body)); got != want {
					t.Errorf("limit %d%s: saw %s, want %s", limit, filter, got, want)
				}
			}
		}
	})
}
