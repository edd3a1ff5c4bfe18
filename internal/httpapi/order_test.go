package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"animalstore/internal/shop"
)

func (a testResponse) order(t *testing.T) shop.Order {
	t.Helper()
	var order shop.Order
	if err := json.Unmarshal(a.body, &order); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return order
}

func (s *testShop) wantStatus(t *testing.T, pet int64, status shop.Status) {
	t.Helper()
	got := s.do("GET", fmt.Sprintf("/v1/pets?id=%d", pet), "").pets(t)
	if len(got) != 1 || got[0].Status != status {
		t.Errorf("the animal is %v, want %s", got, status)
	}
}

func TestOrderLifecycle(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	placed := s.do("POST", "/v1/store/orders", `{"petId":1,"reference":"basket 4711 🧺","id":9,"status":"delivered"}`)
	placed.want(t, 201, "")
	order := placed.order(t)
	if order.ID != 1 || order.PetID != 1 || order.Status != shop.Placed || order.Reference != "basket 4711 🧺" ||
		order.CreatedAt != order.UpdatedAt || order.HoldExpiresAt.Sub(order.CreatedAt) != 72*time.Hour || placed.Header.Get("Location") != "/v1/store/orders/1" {
		t.Errorf("placed %s", placed.body)
	}
	s.wantStatus(t, 1, shop.Pending)
	s.do("GET", "/v1/store/orders/1", "").want(t, 200, strings.TrimSpace(string(placed.body)))
	s.do("POST", "/v1/store/orders", `{"petId":1}`).wantError(t, 409, shop.PetNotAvailable)
	for _, status := range []string{"available", "sold"} {
		s.do("PATCH", "/v1/pets/1", fmt.Sprintf(`{"status":%q}`, status)).wantError(t, 409, shop.PetHasOpenOrder)
	}
	// This patch is allowed because the status stays the same.
	s.do("PATCH", "/v1/pets/1", `{"status":"pending","name":"Max"}`).want(t, 200, "")
	s.do("DELETE", "/v1/pets/1", "").wantError(t, 409, shop.PetHasOpenOrder)
	s.do("PATCH", "/v1/store/orders/1", `{"status":"delivered"}`).wantError(t, 409, shop.InvalidTransition)

	s.clock.forward(time.Minute)
	approved := s.do("PATCH", "/v1/store/orders/1", `{"status":"approved"}`).order(t)
	if approved.Status != shop.Approved || !approved.HoldExpiresAt.IsZero() || !approved.UpdatedAt.After(order.UpdatedAt) || approved.CreatedAt != order.CreatedAt {
		t.Errorf("approved to %+v", approved)
	}
	again := s.do("PATCH", "/v1/store/orders/1", `{"status":"approved"}`).order(t)
	if again != approved {
		t.Errorf("approved again to %+v", again)
	}
	s.clock.forward(1000 * time.Hour) // an approved order does not expire
	s.wantStatus(t, 1, shop.Pending)
	s.do("DELETE", "/v1/pets/1", "").wantError(t, 409, shop.PetHasOpenOrder)
	s.do("PATCH", "/v1/store/orders/1", `{"status":"delivered"}`).want(t, 200, "")
	s.wantStatus(t, 1, shop.Sold)
	for _, status := range []string{"placed", "approved", "cancelled", "expired"} {
		s.do("PATCH", "/v1/store/orders/1", fmt.Sprintf(`{"status":%q}`, status)).wantError(t, 409, shop.InvalidTransition)
	}
	s.do("POST", "/v1/store/orders", `{"petId":1}`).wantError(t, 409, shop.PetNotAvailable)
	s.do("PATCH", "/v1/pets/1", `{"status":"available"}`).want(t, 200, "") // the customer returned the animal

	s.do("POST", "/v1/store/orders", `{"petId":1}`).want(t, 201, "")
	s.do("PATCH", "/v1/store/orders/2", `{"status":"cancelled"}`).want(t, 200, "")
	s.wantStatus(t, 1, shop.Available)
	s.do("PATCH", "/v1/store/orders/2", `{"status":"approved"}`).wantError(t, 409, shop.InvalidTransition)
	s.do("POST", "/v1/store/orders", `{"petId":1}`).want(t, 201, "")
	s.do("PATCH", "/v1/store/orders/3", `{"status":"approved"}`).want(t, 200, "")
	s.do("PATCH", "/v1/store/orders/3", `{"status":"cancelled"}`).want(t, 200, "")
	s.wantStatus(t, 1, shop.Available)
	s.do("DELETE", "/v1/pets/1", "").want(t, 204, "")
	if got := s.do("GET", "/v1/store/orders/1", "").order(t); got.PetID != 1 {
		t.Errorf("the order of a removed animal is %+v", got)
	}
	s.do("POST", "/v1/store/orders", `{"petId":1}`).wantError(t, 404, shop.PetNotFound)
}

func TestInvalidOrderIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.add(`{"name":"Mia","categoryId":1,"status":"pending"}`)
	s.add(`{"name":"Leo","categoryId":1,"status":"sold"}`)
	for _, pet := range []string{"1", "2", "3"} {
		s.do("POST", "/v1/store/orders", `{"petId":`+pet+`}`).wantError(t, 409, shop.PetNotAvailable)
	}
	for _, pet := range []string{"99", "0", "-1", "9223372036854775807"} {
		s.do("POST", "/v1/store/orders", `{"petId":`+pet+`}`).wantError(t, 404, shop.PetNotFound)
	}
	for _, body := range []string{
		`{}`, `{"petId":null}`, `{"petId":"1"}`, `{"petId":1.5}`, `{"petId":9223372036854775808}`,
		`{"petId":1,"reference":null}`, `{"petId":1,"reference":""}`, `{"petId":1,"reference":" "}`, `{"petId":1,"reference":7}`,
		`{"petId":1,"reference":"a\u007f"}`, `{"petId":1,"reference":"` + strings.Repeat("é", 201) + `"}`,
	} {
		s.do("POST", "/v1/store/orders", body).wantError(t, 400, shop.ValidationFailed)
	}
	s.add(`{"name":"Zoe","categoryId":1,"status":"available"}`)
	s.do("POST", "/v1/store/orders", `{"petId":4,"reference":"`+strings.Repeat("🐈", 200)+`"}`).want(t, 201, "")
	for _, body := range []string{`{}`, `{"status":null}`, `{"status":""}`, `{"status":"Approved"}`, `{"status":"lost"}`, `{"status":1}`} {
		s.do("PATCH", "/v1/store/orders/1", body).wantError(t, 400, shop.ValidationFailed)
	}
	s.do("PATCH", "/v1/store/orders/1", `{"status":"placed"}`).want(t, 200, "")
	s.do("PATCH", "/v1/store/orders/1", `{"status":"expired"}`).wantError(t, 409, shop.InvalidTransition)
}

func TestListOrders(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("GET", "/v1/store/orders", "").want(t, 200, "[]")
	for pet := range 3 {
		s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
		for range 3 { // two orders are cancelled and one stays open
			got := s.do("POST", "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, pet+1))
			if id := got.order(t).ID; id%3 != 0 {
				s.do("PATCH", fmt.Sprintf("/v1/store/orders/%d", id), `{"status":"cancelled"}`).want(t, 200, "")
			}
		}
	}
	for query, want := range map[string]string{
		"": "9 8 7 6 5 4 3 2 1", "limit=2": "9 8 7 6 5 4 3 2 1", "status=cancelled&limit=4": "8 7 5 4 2 1", "status=placed": "9 6 3",
		"petId=2": "6 5 4", "petId=2&status=placed&limit=1": "6", "petId=99": "", "status=expired": "", "petId=-1&unknown=x": "",
	} {
		var seen []string
		for path := "/v1/store/orders?" + query; path != ""; {
			page := s.do("GET", path, "")
			var orders []shop.Order
			if err := json.Unmarshal(page.body, &orders); err != nil {
				t.Fatal(err)
			}
			for _, order := range orders {
				seen = append(seen, fmt.Sprint(order.ID))
			}
			s.do("GET", path, "", "If-None-Match: "+page.Header.Get("ETag")).want(t, 304, "")
			path = page.link("next")
		}
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("%s: saw %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{"limit=0", "limit=101", "status=", "status=sold", "status=placed&status=placed", "petId=x", "petId=", "petId=1&petId=1", "petId=9223372036854775808", "limit=%zz"} {
		s.do("GET", "/v1/store/orders?"+query, "").wantError(t, 400, shop.InvalidParameter)
	}
	s.do("GET", "/v1/store/orders?cursor=x", "").wantError(t, 400, shop.InvalidCursor)
	tag := s.do("GET", "/v1/store/orders/1", "").Header.Get("ETag")
	s.do("GET", "/v1/store/orders/1", "", "If-None-Match: "+tag).want(t, 304, "")
}

func TestInventory(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	want := func(counts string) {
		t.Helper()
		s.do("GET", "/v1/store/inventory", "").want(t, 200, counts)
	}
	want(`{"available":0,"pending":0,"sold":0,"unspecified":0}`)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	s.add(`{"name":"Rex","categoryId":1,"status":"sold"}`)
	want(`{"available":1,"pending":0,"sold":1,"unspecified":1}`)
	s.do("PATCH", "/v1/pets/1", `{"status":"pending"}`)
	s.do("PATCH", "/v1/pets/1", `{"status":"pending"}`)
	s.do("PATCH", "/v1/pets/3", `{"status":"pending"}`) // this change is not allowed
	s.do("POST", "/v1/store/orders", `{"petId":2}`)
	want(`{"available":0,"pending":2,"sold":1,"unspecified":0}`)
	s.clock.forward(73 * time.Hour)
	want(`{"available":1,"pending":1,"sold":1,"unspecified":0}`)
	s.do("DELETE", "/v1/pets/3", "")
	want(`{"available":1,"pending":1,"sold":0,"unspecified":0}`)
	tag := s.do("GET", "/v1/store/inventory", "").Header.Get("ETag")
	s.do("GET", "/v1/store/inventory", "", "If-None-Match: "+tag).want(t, 304, "")
}

// Every operation treats an order as expired as soon as its hold expires, even if the background job has
// not run yet.
func TestExpiredHoldReleasesThePet(t *testing.T) {
	t.Parallel()
	const order = "/v1/store/orders/1"
	for name, check := range map[string]func(t *testing.T, s *testShop){
		"list of available": func(t *testing.T, s *testShop) {
			if n := len(s.do("GET", "/v1/pets?status=available", "").pets(t)); n != 1 {
				t.Errorf("%d animals are available", n)
			}
		},
		"list of pending": func(t *testing.T, s *testShop) { s.do("GET", "/v1/pets?status=pending", "").want(t, 200, "[]") },
		"get deprecated": func(t *testing.T, s *testShop) {
			s.do("GET", "/v1/pets/1", "").want(t, 200, `{"id":1,"name":"Rex","categoryId":1,"status":"available"}`)
		},
		"get": func(t *testing.T, s *testShop) { s.wantStatus(t, 1, shop.Available) },
		"inventory": func(t *testing.T, s *testShop) {
			s.do("GET", "/v1/store/inventory", "").want(t, 200, `{"available":1,"pending":0,"sold":0,"unspecified":0}`)
		},
		"get order": func(t *testing.T, s *testShop) {
			got := s.do("GET", order, "").order(t)
			if got.Status != shop.Expired || !got.HoldExpiresAt.IsZero() || !got.UpdatedAt.After(got.CreatedAt) {
				t.Errorf("the order is %+v", got)
			}
		},
		"list orders": func(t *testing.T, s *testShop) {
			s.do("GET", "/v1/store/orders?status=placed", "").want(t, 200, "[]")
		},
		"approve": func(t *testing.T, s *testShop) {
			s.do("PATCH", order, `{"status":"approved"}`).wantError(t, 409, shop.InvalidTransition)
		},
		"cancel": func(t *testing.T, s *testShop) {
			s.do("PATCH", order, `{"status":"cancelled"}`).wantError(t, 409, shop.InvalidTransition)
		},
		"expire":      func(t *testing.T, s *testShop) { s.do("PATCH", order, `{"status":"expired"}`).want(t, 200, "") },
		"order again": func(t *testing.T, s *testShop) { s.do("POST", "/v1/store/orders", `{"petId":1}`).want(t, 201, "") },
		"sell":        func(t *testing.T, s *testShop) { s.do("PATCH", "/v1/pets/1", `{"status":"sold"}`).want(t, 200, "") },
		"remove":      func(t *testing.T, s *testShop) { s.do("DELETE", "/v1/pets/1", "").want(t, 204, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
			held := s.do("POST", "/v1/store/orders", `{"petId":1}`).order(t)
			s.clock.forward(time.Until(held.HoldExpiresAt) - time.Minute)
			s.wantStatus(t, 1, shop.Pending)
			s.clock.forward(time.Minute)
			check(t, s)
			s.do("GET", order, "").order(t)
			if got := s.do("GET", order, "").order(t); got.Status != shop.Expired {
				t.Errorf("the order is %s", got.Status)
			}
		})
	}
}

// All holds are released even if more of them expire at the same time than one transaction releases.
func TestManyHoldsExpireAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.skipValidation = true
	for pet := range 101 {
		s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
		s.do("POST", "/v1/store/orders", fmt.Sprintf(`{"petId":%d}`, pet+1)).want(t, 201, "")
	}
	s.clock.forward(73 * time.Hour)
	s.do("GET", "/v1/store/inventory", "").want(t, 200, `{"available":101,"pending":0,"sold":0,"unspecified":0}`)
}

// Reads succeed even if a hold has expired while the store cannot be written.
func TestHoldThatCannotBeEnded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	s.do("POST", "/v1/store/orders", `{"petId":1}`).want(t, 201, "")
	s.clock.forward(73 * time.Hour)
	s.store.failWith(func(write bool) error {
		if write {
			return shop.UnavailableError(errSecret)
		}
		return nil
	})
	s.do("GET", "/v1/pets", "").want(t, 200, "")
	s.do("POST", "/v1/store/orders", `{"petId":1}`).wantError(t, 503, shop.Unavailable)
	s.store.failWith(nil)
	s.wantStatus(t, 1, shop.Available)
}

// If a hundred clients order the same animal at the same time, exactly one client gets it.
func TestOneHundredClientsOneAnimal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const animals, clients = 20, 100
	for range animals {
		s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	}
	for pet := int64(1); pet <= animals; pet++ {
		body := fmt.Sprintf(`{"petId":%d}`, pet)
		var mu sync.Mutex
		count := map[int]int{}
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				<-start
				got, err := s.tryDo("POST", "/v1/store/orders", body)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				count[got.StatusCode]++
				mu.Unlock()
			})
		}
		close(start)
		wg.Wait()
		if count[201] != 1 || count[409] != clients-1 {
			t.Errorf("animal %d: %v, want one 201 and %d 409", pet, count, clients-1)
		}
		s.wantStatus(t, pet, shop.Pending)
	}
}
