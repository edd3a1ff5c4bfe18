package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"animalstore/internal/shop"
)

// TestServiceFollowsTheModel runs random sequences of all operations on animals, categories and orders.
// The service must always agree with a small model of the rules, the inventory must add up, and no animal
// may have two open orders.
func TestServiceFollowsTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := newShop(t)
		defer s.close()
		s.skipValidation = true
		m := &model{s: s, pets: map[int64]shop.Pet{}, orders: map[int64]shop.Order{}, categories: map[int64]string{}}
		rt.Repeat(map[string]func(*rapid.T){
			"create pet":      m.createPet,
			"update pet":      m.updatePet,
			"delete pet":      m.deletePet,
			"place order":     m.placeOrder,
			"place another":   m.placeOrder, // listed twice because orders matter most
			"update order":    m.updateOrder,
			"update another":  m.updateOrder,
			"create category": m.createCategory,
			"put category":    m.putCategory,
			"delete category": m.deleteCategory,
			"time passes":     m.timePasses,
			"":                m.compare,
		})
	})
}

// model is the expected state of the shop.
type model struct {
	s            *testShop
	pets         map[int64]shop.Pet
	orders       map[int64]shop.Order
	categories   map[int64]string
	lastPet      int64
	lastOrder    int64
	lastCategory int64
}

var (
	someNames    = []string{"Rex", "mia", "REXINA", "Žofka"}
	someStatuses = []shop.Status{"", shop.Available, shop.Available, shop.Pending, shop.Sold}
)

// send sends a request and checks the response's status and error code.
func (m *model) send(t *rapid.T, method, path string, body any, status int, code shop.Code) testResponse {
	t.Helper()
	var text string
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	got, err := m.s.tryDo(method, path, text)
	if err != nil {
		t.Fatal(err)
	}
	if got.StatusCode != status || !strings.Contains(string(got.body), string(code)) {
		t.Fatalf("%s %s %s returned %d %s, want %d %s", method, path, text, got.StatusCode, got.body, status, code)
	}
	return got
}

// settle marks orders as expired in the model if their hold has expired.
func (m *model) settle() {
	for id, order := range m.orders {
		if order.Status == shop.Placed && !m.s.clock.now().Before(order.HoldExpiresAt) {
			order.Status = shop.Expired
			m.orders[id] = order
			m.setStatus(order.PetID, shop.Available)
		}
	}
}

func (m *model) setStatus(id int64, status shop.Status) {
	pet := m.pets[id]
	pet.Status = status
	m.pets[id] = pet
}

func (m *model) held(pet int64) bool {
	for _, order := range m.orders {
		if order.PetID == pet && (order.Status == shop.Placed || order.Status == shop.Approved) {
			return true
		}
	}
	return false
}

// anID draws one of the ids used so far or the next id, which does not exist yet.
func anID(t *rapid.T, last int64) int64 { return rapid.Int64Range(1, last+1).Draw(t, "id") }

func (m *model) createPet(t *rapid.T) {
	pet := shop.Pet{
		Name:       rapid.SampledFrom(someNames).Draw(t, "name"),
		CategoryID: rapid.Int64Range(-1, 4).Draw(t, "category"),
		Status:     rapid.SampledFrom(someStatuses).Draw(t, "status"),
	}
	body := map[string]any{"name": pet.Name, "categoryId": pet.CategoryID}
	if pet.Status != "" {
		body["status"] = pet.Status
	}
	m.send(t, "POST", "/v1/pets", body, 201, "")
	m.lastPet++
	pet.ID = m.lastPet
	m.pets[pet.ID] = pet
	m.bringCategory(pet.CategoryID)
}

func (m *model) bringCategory(id int64) {
	if _, there := m.categories[id]; !there {
		m.categories[id] = ""
	}
}

func (m *model) updatePet(t *rapid.T) {
	m.settle()
	id := anID(t, m.lastPet)
	pet, found := m.pets[id]
	after, body := pet, map[string]any{}
	if rapid.Bool().Draw(t, "rename") {
		after.Name = rapid.SampledFrom(someNames).Draw(t, "name")
		body["name"] = after.Name
	}
	if rapid.Bool().Draw(t, "move") {
		after.CategoryID = rapid.Int64Range(-1, 4).Draw(t, "category")
		body["categoryId"] = after.CategoryID
	}
	if rapid.Bool().Draw(t, "change status") {
		after.Status = rapid.SampledFrom(shop.Statuses()).Draw(t, "status")
		body["status"] = after.Status
	}
	path := fmt.Sprintf("/v1/pets/%d", id)
	switch forbidden := pet.Status == shop.Sold && after.Status == shop.Pending; {
	case !found:
		m.send(t, "PATCH", path, body, 404, shop.NotFound)
	case forbidden:
		m.send(t, "PATCH", path, body, 409, shop.InvalidTransition)
	case after.Status != pet.Status && m.held(id):
		m.send(t, "PATCH", path, body, 409, shop.PetHasOpenOrder)
	default:
		m.send(t, "PATCH", path, body, 200, "")
		m.pets[id] = after
		m.bringCategory(after.CategoryID)
	}
}

func (m *model) deletePet(t *rapid.T) {
	m.settle()
	id := anID(t, m.lastPet)
	path := fmt.Sprintf("/v1/pets/%d", id)
	switch _, found := m.pets[id]; {
	case !found:
		m.send(t, "DELETE", path, nil, 404, shop.NotFound)
	case m.held(id):
		m.send(t, "DELETE", path, nil, 409, shop.PetHasOpenOrder)
	default:
		m.send(t, "DELETE", path, nil, 204, "")
		delete(m.pets, id)
	}
}

func (m *model) placeOrder(t *rapid.T) {
	m.settle()
	id := anID(t, m.lastPet)
	body := map[string]any{"petId": id}
	switch pet, found := m.pets[id]; {
	case !found:
		m.send(t, "POST", "/v1/store/orders", body, 404, shop.PetNotFound)
	case pet.Status != shop.Available:
		m.send(t, "POST", "/v1/store/orders", body, 409, shop.PetNotAvailable)
	default:
		got := m.send(t, "POST", "/v1/store/orders", body, 201, "")
		var order shop.Order
		if err := json.Unmarshal(got.body, &order); err != nil {
			t.Fatal(err)
		}
		m.lastOrder++
		if order.ID != m.lastOrder || order.PetID != id || order.Status != shop.Placed {
			t.Fatalf("placed %s", got.body)
		}
		m.orders[order.ID] = order
		m.setStatus(id, shop.Pending)
	}
}

func (m *model) updateOrder(t *rapid.T) {
	m.settle()
	id := anID(t, m.lastOrder)
	to := rapid.SampledFrom(shop.OrderStatuses()).Draw(t, "to")
	path, body := fmt.Sprintf("/v1/store/orders/%d", id), map[string]any{"status": to}
	order, found := m.orders[id]
	step := string(order.Status) + "→" + string(to)
	allowed := []string{"placed→approved", "approved→delivered", "placed→cancelled", "approved→cancelled"}
	switch {
	case !found:
		m.send(t, "PATCH", path, body, 404, shop.NotFound)
	case order.Status == to:
		m.send(t, "PATCH", path, body, 200, "")
	case !slices.Contains(allowed, step):
		m.send(t, "PATCH", path, body, 409, shop.InvalidTransition)
	default:
		m.send(t, "PATCH", path, body, 200, "")
		order.Status = to
		m.orders[id] = order
		if to == shop.Delivered {
			m.setStatus(order.PetID, shop.Sold)
		} else if to == shop.Cancelled {
			m.setStatus(order.PetID, shop.Available)
		}
	}
}

func (m *model) createCategory(t *rapid.T) {
	for m.lastCategory++; ; m.lastCategory++ {
		if _, taken := m.categories[m.lastCategory]; !taken {
			break
		}
	}
	name := rapid.SampledFrom(someNames).Draw(t, "name")
	m.send(t, "POST", "/v1/categories", map[string]any{"name": name}, 201, "")
	m.categories[m.lastCategory] = name
}

func (m *model) putCategory(t *rapid.T) {
	id := rapid.Int64Range(-1, 6).Draw(t, "category")
	name := rapid.SampledFrom(someNames).Draw(t, "name")
	status := 201
	if _, there := m.categories[id]; there {
		status = 200
	}
	m.send(t, "PUT", fmt.Sprintf("/v1/categories/%d", id), map[string]any{"name": name}, status, "")
	m.categories[id] = name
}

func (m *model) deleteCategory(t *rapid.T) {
	id := rapid.Int64Range(-1, 6).Draw(t, "category")
	path := fmt.Sprintf("/v1/categories/%d", id)
	inUse := false
	for _, pet := range m.pets {
		inUse = inUse || pet.CategoryID == id
	}
	switch _, there := m.categories[id]; {
	case !there:
		m.send(t, "DELETE", path, nil, 404, shop.NotFound)
	case inUse:
		m.send(t, "DELETE", path, nil, 409, shop.CategoryInUse)
	default:
		m.send(t, "DELETE", path, nil, 204, "")
		delete(m.categories, id)
	}
}

func (m *model) timePasses(t *rapid.T) {
	m.s.clock.forward(time.Duration(rapid.IntRange(1, 80).Draw(t, "hours")) * time.Hour)
}

// compare compares everything that the service shows with the model.
func (m *model) compare(t *rapid.T) {
	m.settle()
	pets := everyPage[shop.Pet](t, m.s, "/v1/pets?limit=7")
	compareAll(t, "animals", pets, slices.Collect(maps.Values(m.pets)), func(p shop.Pet) int64 { return -p.ID })
	status := shop.Statuses()[len(m.orders)%3] // checking one status each time is enough
	filtered := slices.DeleteFunc(slices.Collect(maps.Values(m.pets)), func(p shop.Pet) bool { return p.Status != status })
	pets = everyPage[shop.Pet](t, m.s, "/v1/pets?status="+string(status))
	compareAll(t, string(status)+" animals", pets, filtered, func(p shop.Pet) int64 { return -p.ID })
	var categories []shop.Category
	for id, name := range m.categories {
		categories = append(categories, shop.Category{ID: id, Name: name})
	}
	compareAll(t, "categories", everyPage[shop.Category](t, m.s, "/v1/categories?limit=3"), categories, func(c shop.Category) int64 { return c.ID })

	type step struct {
		id, pet int64
		status  shop.OrderStatus
	}
	var got, want []step
	open := map[int64]int{}
	for _, order := range everyPage[shop.Order](t, m.s, "/v1/store/orders?limit=5") {
		got = append(got, step{order.ID, order.PetID, order.Status})
		if order.Status == shop.Placed || order.Status == shop.Approved {
			if open[order.PetID]++; open[order.PetID] > 1 {
				t.Fatalf("the animal %d has two open orders", order.PetID)
			}
		}
		if order.HoldExpiresAt.IsZero() == (order.Status == shop.Placed) {
			t.Fatalf("the hold of %+v", order)
		}
	}
	for _, order := range m.orders {
		want = append(want, step{order.ID, order.PetID, order.Status})
	}
	compareAll(t, "orders", got, want, func(s step) int64 { return -s.id })

	var inventory, counted shop.Inventory
	answer := m.send(t, "GET", "/v1/store/inventory", nil, 200, "")
	if err := json.Unmarshal(answer.body, &inventory); err != nil {
		t.Fatal(err)
	}
	for _, pet := range m.pets {
		switch pet.Status {
		case shop.Available:
			counted.Available++
		case shop.Pending:
			counted.Pending++
		case shop.Sold:
			counted.Sold++
		default:
			counted.Unspecified++
		}
	}
	if inventory != counted {
		t.Fatalf("the inventory is %+v, want %+v", inventory, counted)
	}
}

func everyPage[T any](t *rapid.T, s *testShop, path string) (all []T) {
	t.Helper()
	for path != "" {
		got, err := s.tryDo("GET", path, "")
		if err != nil || got.StatusCode != 200 {
			t.Fatalf("%s: %v %s", path, err, got.body)
		}
		var page []T
		if err := json.Unmarshal(got.body, &page); err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		path = got.link("next")
	}
	return all
}

// compareAll checks that got is sorted by key and contains the same items as want.
func compareAll[T comparable](t *rapid.T, what string, got, want []T, key func(T) int64) {
	t.Helper()
	slices.SortFunc(want, func(a, b T) int {
		if key(a) < key(b) {
			return -1
		}
		return 1
	})
	if !slices.Equal(got, want) {
		t.Fatalf("the %s are\n%+v\nwant\n%+v", what, got, want)
	}
}
