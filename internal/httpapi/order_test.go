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
	got := s.do("GET", "/v1/store/orders/1", "")
	got.want(t, 200, strings.TrimSpace(string(placed.body)))
	s.do("GET", "/v1/store/orders/1", "", "If-None-Match: "+got.Header.Get("ETag")).want(t, 304, "")
	s.do("POST", "/v1/store/orders", `{"petId":1}`).wantError(t, 409, shop.PetNotAvailable)
	s.do("PATCH", "/v1/pets/1", `{"status":"available"}`).wantError(t, 409, shop.PetHasOpenOrder)
	s.do("DELETE", "/v1/pets/1", "").wantError(t, 409, shop.PetHasOpenOrder)
	s.do("PATCH", "/v1/store/orders/1", `{"status":"delivered"}`).wantError(t, 409, shop.InvalidTransition)

	s.Clock.Forward(time.Minute)
	approved := s.do("PATCH", "/v1/store/orders/1", `{"status":"approved"}`)
	if o := approved.order(t); o.Status != shop.Approved || !o.HoldExpiresAt.IsZero() || !o.UpdatedAt.After(order.UpdatedAt) || o.CreatedAt != order.CreatedAt {
		t.Errorf("approved to %s", approved.body)
	}
	s.do("PATCH", "/v1/store/orders/1", `{"status":"approved"}`).want(t, 200, strings.TrimSpace(string(approved.body)))
	s.do("PATCH", "/v1/store/orders/1", `{"status":"delivered"}`).want(t, 200, "")
	s.do("PATCH", "/v1/pets/1", `{"status":"pending"}`).wantError(t, 409, shop.InvalidTransition)
	s.wantStatus(t, 1, shop.Sold)
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

func TestInventoryCountsByStatus(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.do("GET", "/v1/store/inventory", "").want(t, 200, `{"available":0,"pending":0,"sold":0,"unspecified":0}`)
	s.add(`{"name":"Rex","categoryId":1}`)
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	s.add(`{"name":"Rex","categoryId":1,"status":"available"}`)
	s.add(`{"name":"Rex","categoryId":1,"status":"sold"}`)
	s.do("POST", "/v1/store/orders", `{"petId":2}`).want(t, 201, "")
	got := s.do("GET", "/v1/store/inventory", "")
	got.want(t, 200, `{"available":1,"pending":1,"sold":1,"unspecified":1}`)
	s.do("GET", "/v1/store/inventory", "", "If-None-Match: "+got.Header.Get("ETag")).want(t, 304, "")
}

// If a hundred clients order the same animal at the same time, exactly one client gets it.
func TestOnlyOneOfAHundredClientsGetsTheAnimal(t *testing.T) {
	onBothEngines(t, wantOneBuyer)
}

func wantOneBuyer(t *testing.T, s *testShop) {
	const animals, clients = 3, 100
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
