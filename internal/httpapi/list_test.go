package httpapi

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

func TestListIsLimitedAndFiltered(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		for i := range 120 {
			s.AddPet(t, fmt.Sprintf("Pet %d", i+1), int64(i%3), "")
		}
		s.AddPet(t, "ŽOFKA 100%", math.MinInt64, shop.Available)
		s.AddPet(t, "Rex", math.MaxInt64, shop.Sold)
		for query, want := range map[string]int{
			"": 20, "limit=1": 1, "limit=100": 100, "limit=007": 7, "unknown=1&unknown=2&Limit=0": 20,
			"status=available": 1, "status=sold": 1, "status=pending": 0,
			"categoryId=0&limit=100": 40, "categoryId=9223372036854775807": 1, "categoryId=-9223372036854775808": 1,
			"q=rex": 1, "q=%C5%BEof": 1, "q=%25": 1, "q=_ex": 0, "q=12+pet": 3, "q=ZOF": 1, "q=" + strings.Repeat("a", 200): 0,
			"id=5&id=6&id=5": 2, "id=0&id=-1&id=9223372036854775807": 0, strings.Repeat("id=1&", 100): 1,
			"id=121&status=available&categoryId=-9223372036854775808&q=OFK": 1, "id=121&status=sold": 0,
			"cursor=8000000000000": 0, "cursor=fzzzzzzzzzzzz&limit=100": 100, "cursor=8000000000003": 2,
		} {
			got := s.do("GET", "/v1/pets?"+query, "")
			got.want(t, 200, "")
			if n := len(got.pets(t)); n != want {
				t.Errorf("%s: got %d animals, want %d", query, n, want)
			}
		}
		for _, query := range []string{
			"limit=0", "limit=101", "limit=abc", "limit=%2B5", "limit", "limit=5&limit=5", "limit=5;status=sold", "other=%zz",
			"status=", "status=lost", "categoryId=9223372036854775808", "q=", "q=%ff", "q=" + strings.Repeat("a", 201), "id=5&id=x",
			strings.Repeat("id=1&", 101), "cursor=8000000000003&cursor=8000000000003",
		} {
			s.do("GET", "/v1/pets?"+query, "").wantError(t, 400, shop.InvalidParameter)
		}
		for _, cursor := range []string{"", "abc", "800000000000i"} {
			s.do("GET", "/v1/pets?cursor="+cursor, "").wantError(t, 400, shop.InvalidCursor)
		}
	})
}

func TestListIsABareArrayNewestFirst(t *testing.T) {
	s := parallelShop(t)
	s.do("GET", "/v1/pets", "").want(t, 200, "[]")
	s.add(`{"name":"Rex","categoryId":1}`)
	s.add(`{"name":"Bella","categoryId":2,"status":"sold"}`)
	s.do("GET", "/v1/pets", "").want(t, 200,
		`[{"id":2,"name":"Bella","categoryId":2,"status":"sold"},{"id":1,"name":"Rex","categoryId":1}]`)
}

// The work for one search is limited, so a page may be empty even though another page follows. A client that follows
// the links still finds every match.
func TestSearchContinuesAfterAnEmptyPage(t *testing.T) {
	s := parallelShop(t)
	s.AddPet(t, "🐶", 1, "")
	if err := s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
		_, err := tx.InsertPets(slices.Repeat([]shop.NewPet{{Name: "Rex", CategoryID: 1}}, 4500)...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.wantPages(t, "/v1/pets?q=%F0%9F%90%B6", "1")
	first := s.do("GET", "/v1/pets?q=%F0%9F%90%B6", "")
	first.want(t, 200, "[]")
	second := s.do("GET", first.link("next"), "")
	second.want(t, 200, "[]")
	if second.link("next") == "" || first.Header.Get("ETag") == second.Header.Get("ETag") {
		t.Errorf("the next page is %q; the ETags are %s and %s", second.link("next"), first.Header.Get("ETag"), second.Header.Get("ETag"))
	}
}

func TestPetsArePaginated(t *testing.T) {
	s := parallelShop(t)
	for i := range 7 {
		s.add(fmt.Sprintf(`{"name":"Ná & <%d>","categoryId":-5,"status":"sold"}`, i+1))
	}
	const filter = "status=sold&categoryId=-5&q=%C3%81+%26+%3C&id=1&id=2&id=3&id=5&id=7"
	s.wantPages(t, "/v1/pets?limit=2&unknown=x&"+filter, "7 5 3 2 1")
	first := s.do("GET", "/v1/pets?limit=2&unknown=x&"+filter, "")
	const sorted = "id=1&id=2&id=3&id=5&id=7&limit=2&q=%C3%81+%26+%3C&status=sold"
	next := s.url + "/v1/pets?categoryId=-5&cursor=" + web.FormatCursor(5) + "&" + sorted
	for _, page := range []testResponse{first, s.do("GET", first.link("next"), "")} {
		if got, want := page.link("first"), s.url+"/v1/pets?categoryId=-5&"+sorted; got != want {
			t.Errorf("rel=first is %s, want %s", got, want)
		}
	}
	if got := first.link("next"); got != next {
		t.Errorf("rel=next is %s, want %s", got, next)
	}
	// Even a full page can be the last page.
	if next := s.do("GET", "/v1/pets?limit=7", "").link("next"); next != "" {
		t.Errorf("the last page has a next one: %s", next)
	}
}

func TestListTagChangesWithTheList(t *testing.T) {
	s := parallelShop(t)
	tagOf := func(query string) string { return s.do("GET", "/v1/pets?"+query, "").Header.Get("ETag") }
	empty := tagOf("")
	own := s.do("POST", "/v1/pets", `{"name":"Rex","categoryId":1}`).Header.Get("ETag")
	list := s.do("GET", "/v1/pets", "")
	tag := list.Header.Get("ETag")
	if cache := list.Header.Get("Cache-Control"); cache != "private, no-cache" || tag == empty {
		t.Errorf("Cache-Control is %q, and the ETag is %s after %s", cache, tag, empty)
	}
	for match, status := range map[string]int{
		tag: 304, `"x",W/` + tag + `, "y"`: 304, "*": 304, empty: 200, strings.Trim(tag, `"`): 200,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			got := s.do(method, "/v1/pets", "", "If-None-Match: "+match)
			got.want(t, status, "")
			if got.Header.Get("ETag") != tag || got.Header.Get("Link") != list.Header.Get("Link") {
				t.Errorf("%s with %s: the headers are not those of the list", method, match)
			}
		}
	}
	for query, same := range map[string]bool{"id=1": true, "id=1&limit=20": false, "id=1&id=1": false, "id=1&x=y": false} {
		if got := tagOf(query); (got == own) != same {
			t.Errorf("%s: the ETag is the animal's own: %v, want %v", query, got == own, same)
		}
	}
	if got := tagOf("id=2"); got != empty {
		t.Errorf("an empty list has the ETag %s, but %s for an unknown id", empty, got)
	}
	// Two different cursors lead to the same last page, which must have the same ETag.
	before := tagOf("limit=1&cursor=fzzzzzzzzzzzz")
	s.add(`{"name":"Bella","categoryId":1}`)
	if after := tagOf("limit=1&cursor=" + web.FormatCursor(2)); after != before {
		t.Errorf("the same last page has the ETag %s after %s", after, before)
	}
}

func TestHeadMatchesGet(t *testing.T) {
	s := parallelShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.skipValidation = true // the validator cannot read compressed bodies
	for _, path := range []string{"/v1/pets", "/v1/pets?limit=0", "/v1/pets/1", "/v1/openapi.json", "/v1/nothing", "/livez"} {
		// Without an Accept-Encoding header, Go's client would ask for gzip in GET requests but not in HEAD requests.
		for _, encoding := range []string{"identity", "gzip"} {
			get := s.do("GET", path, "", "Accept-Encoding: "+encoding)
			head := s.do("HEAD", path, "", "Accept-Encoding: "+encoding)
			for _, h := range []testResponse{get, head} {
				h.Header.Del("Date")
				h.Header.Del("X-Request-Id")
			}
			if get.StatusCode != head.StatusCode || fmt.Sprint(get.Header) != fmt.Sprint(head.Header) || len(head.body) != 0 {
				t.Errorf("%s: GET returned %d %v, HEAD %d %v %s",
					path, get.StatusCode, get.Header, head.StatusCode, head.Header, head.body)
			}
		}
	}
}

// Every list is paginated. Filters can be combined and apply to all pages. Invalid parameters are refused.
func TestListsArePaginated(t *testing.T) {
	s := parallelShop(t)
	for pet := range 3 {
		s.add(fmt.Sprintf(`{"name":"Rex","categoryId":%d,"status":"available"}`, pet-1))
		for range 2 { // orders with an odd id are cancelled, the others stay open
			got := s.do("POST", "/v1/store/orders", fmt.Sprintf(`{"petId":%[1]d,"reference":"Körb %[1]d"}`, pet+1))
			if id := got.order(t).ID; id%2 != 0 {
				s.do("PATCH", fmt.Sprintf("/v1/store/orders/%d", id), `{"status":"cancelled"}`).want(t, 200, "")
			}
		}
		s.key(shop.PetsRead)
		s.do("POST", "/v1/webhooks", example).want(t, 201, "")
	}
	for hook := range 3 { // disabled webhooks receive no events, so only the requests below create deliveries
		s.do("PATCH", fmt.Sprintf("/v1/webhooks/%d", hook+1), `{"enabled":false}`).want(t, 200, "")
	}
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
			"q=KORB&limit=4": "6 5 4 3 2 1", "q=2+k%C3%B6rb": "4 3", "q=orb&status=placed&petId=1": "2", "q=korb+4": "",
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
		"/v1/webhooks/1/deliveries?status=", "/v1/webhooks/1/deliveries?status=failed&status=failed",
		"/v1/webhooks/99/deliveries?status=sent", "/v1/store/orders?status=sold", "/v1/store/orders?petId=x", "/v1/store/orders?petId=1&petId=1",
		"/v1/store/orders?q=", "/v1/store/orders?q=a&q=b",
	} {
		s.do("GET", path, "").wantError(t, 400, shop.InvalidParameter)
	}
}

// If animals are added while a client reads all pages of a list, the client sees exactly the animals that existed when
// it started, each of them once. This holds for any page size and filter.
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
					if len(seen) <= limit { // add animals after the first page
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
