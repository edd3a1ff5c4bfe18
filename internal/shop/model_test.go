package shop_test

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// TestServiceFollowsTheModel runs random sequences of all operations on animals, categories and orders.
// The service must always agree with a small model of the rules, the inventory must add up, and no animal
// may have two open orders.
func TestServiceFollowsTheModel(t *testing.T) {
	t.Parallel()
	dir, n := shoptest.TempDir(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		s, err := shoptest.OpenAt(t.Context(), filepath.Join(dir, fmt.Sprint(n)), shop.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Store.Close()
		m := &model{s: s, pets: map[int64]shop.Pet{}, orders: map[int64]shop.Order{}, categories: map[int64]string{}}
		rt.Repeat(map[string]func(*rapid.T){
			"create pet":    m.createPet,
			"update pet":    func(t *rapid.T) { m.updatePet(t, anID(t, m.lastPet)) },
			"delete pet":    func(t *rapid.T) { m.deletePet(t, anID(t, m.lastPet)) },
			"place order":   func(t *rapid.T) { m.placeOrder(t, anID(t, m.lastPet)) },
			"place another": m.placeAnother,
			"update order": func(t *rapid.T) {
				m.updateOrder(t, anID(t, m.lastOrder), rapid.SampledFrom(shop.OrderStatuses()).Draw(t, "to"))
			},
			"advance order":   m.advanceOrder,
			"create category": m.createCategory,
			"put category":    m.putCategory,
			"delete category": m.deleteCategory,
			"a hold expires":  m.expireHold,
			"": func(t *rapid.T) {
				if rapid.Bool().Draw(t, "compare") {
					m.compare(t)
				}
			},
		})
	})
}

// model is the expected state of the shop.
type model struct {
	s                                *shoptest.Shop
	pets                             map[int64]shop.Pet
	orders                           map[int64]shop.Order
	categories                       map[int64]string
	lastPet, lastOrder, lastCategory int64
}

var (
	someNames    = []string{"Rex", "mia", "REXINA", "Žofka"}
	someStatuses = []shop.Status{"", shop.Available, shop.Available, shop.Pending, shop.Sold}
)

// wantCode checks that an operation succeeded, or failed with the given code.
func wantCode(t *rapid.T, err error, want shop.Code) {
	t.Helper()
	if err == nil && want != "" || err != nil && shop.AsError(err).Code != want {
		t.Fatalf("got %v, want the error code %q", err, want)
	}
}

// settle marks orders as expired in the model if their hold has expired.
func (m *model) settle() {
	for id, order := range m.orders {
		if order.Status == shop.Placed && !m.s.Clock.Now().Before(order.HoldExpiresAt) {
			m.advance(id, shop.Expired)
		}
	}
}

// advance changes the status of an order and of its animal.
func (m *model) advance(id int64, to shop.OrderStatus) {
	order := m.orders[id]
	order.Status, order.HoldExpiresAt = to, time.Time{}
	m.orders[id] = order
	switch to {
	case shop.Delivered:
		m.setStatus(order.PetID, shop.Sold)
	case shop.Cancelled, shop.Expired:
		m.setStatus(order.PetID, shop.Available)
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
	n := shop.NewPet{
		Name:       rapid.SampledFrom(someNames).Draw(t, "name"),
		CategoryID: rapid.Int64Range(-1, 4).Draw(t, "category"),
		Status:     rapid.SampledFrom(someStatuses).Draw(t, "status"),
	}
	pet, err := m.s.CreatePet(t.Context(), n)
	m.lastPet++
	if wantCode(t, err, ""); pet != n.WithID(m.lastPet) {
		t.Fatalf("created %+v, want %+v", pet, n.WithID(m.lastPet))
	}
	m.pets[pet.ID] = pet
	m.ensureCategory(pet.CategoryID)
	if rapid.Bool().Draw(t, "order") {
		m.placeOrder(t, pet.ID)
	}
}

func (m *model) ensureCategory(id int64) {
	if _, found := m.categories[id]; !found {
		m.categories[id] = ""
	}
}

func (m *model) updatePet(t *rapid.T, id int64) {
	m.settle()
	before, found := m.pets[id]
	after, change := before, shop.PetChange{}
	if rapid.Bool().Draw(t, "rename") {
		after.Name = rapid.SampledFrom(someNames).Draw(t, "name")
		change.Name = &after.Name
	}
	if rapid.Bool().Draw(t, "move") {
		after.CategoryID = rapid.Int64Range(-1, 4).Draw(t, "category")
		change.CategoryID = &after.CategoryID
	}
	if rapid.Bool().Draw(t, "change status") {
		after.Status = rapid.SampledFrom(shop.Statuses()).Draw(t, "status")
		change.Status = &after.Status
	}
	got, err := m.s.UpdatePet(t.Context(), id, change, nil)
	switch {
	case !found:
		wantCode(t, err, shop.NotFound)
	case before.Status == shop.Sold && after.Status == shop.Pending:
		wantCode(t, err, shop.InvalidTransition)
	case after.Status != before.Status && m.held(id):
		wantCode(t, err, shop.PetHasOpenOrder)
	default:
		if wantCode(t, err, ""); got != after {
			t.Fatalf("changed to %+v, want %+v", got, after)
		}
		m.pets[id] = after
		m.ensureCategory(after.CategoryID)
	}
}

func (m *model) deletePet(t *rapid.T, id int64) {
	m.settle()
	err := m.s.DeletePet(t.Context(), id, nil)
	switch _, found := m.pets[id]; {
	case !found:
		wantCode(t, err, shop.NotFound)
	case m.held(id):
		wantCode(t, err, shop.PetHasOpenOrder)
	default:
		wantCode(t, err, "")
		delete(m.pets, id)
	}
}

// placeAnother orders an available animal. Most of the random ids do not belong to one.
func (m *model) placeAnother(t *rapid.T) {
	m.settle()
	var available []int64
	for id := range m.lastPet {
		if m.pets[id+1].Status == shop.Available {
			available = append(available, id+1)
		}
	}
	if len(available) > 0 {
		m.placeOrder(t, rapid.SampledFrom(available).Draw(t, "available"))
	}
}

func (m *model) placeOrder(t *rapid.T, id int64) {
	m.settle()
	order, err := m.s.PlaceOrder(t.Context(), shop.NewOrder{PetID: id})
	switch pet, found := m.pets[id]; {
	case !found:
		wantCode(t, err, shop.PetNotFound)
	case pet.Status != shop.Available:
		wantCode(t, err, shop.PetNotAvailable)
	default:
		wantCode(t, err, "")
		m.lastOrder++
		if order.ID != m.lastOrder || order.PetID != id || order.Status != shop.Placed {
			t.Fatalf("placed %+v", order)
		}
		m.orders[order.ID] = order
		m.setStatus(id, shop.Pending)
	}
}

// advanceOrder changes the status of an open order. Most of the random changes are not allowed.
func (m *model) advanceOrder(t *rapid.T) {
	m.settle()
	for id := m.lastOrder; id > 0; id-- {
		switch m.orders[id].Status {
		case shop.Placed:
			m.updateOrder(t, id, rapid.SampledFrom([]shop.OrderStatus{shop.Approved, shop.Approved, shop.Cancelled}).Draw(t, "to"))
			return
		case shop.Approved:
			m.updateOrder(t, id, rapid.SampledFrom([]shop.OrderStatus{shop.Delivered, shop.Delivered, shop.Cancelled}).Draw(t, "to"))
			return
		}
	}
}

func (m *model) updateOrder(t *rapid.T, id int64, to shop.OrderStatus) {
	m.settle()
	order, found := m.orders[id]
	allowed := []string{"placed→approved", "approved→delivered", "placed→cancelled", "approved→cancelled"}
	_, err := m.s.UpdateOrder(t.Context(), id, to, nil)
	switch {
	case !found:
		wantCode(t, err, shop.NotFound)
	case order.Status == to:
		wantCode(t, err, "")
	case !slices.Contains(allowed, string(order.Status)+"→"+string(to)):
		wantCode(t, err, shop.InvalidTransition)
	default:
		wantCode(t, err, "")
		m.advance(id, to)
	}
}

func (m *model) createCategory(t *rapid.T) {
	for m.lastCategory++; ; m.lastCategory++ {
		if _, taken := m.categories[m.lastCategory]; !taken {
			break
		}
	}
	name := rapid.SampledFrom(someNames).Draw(t, "name")
	category, err := m.s.CreateCategory(t.Context(), name)
	if wantCode(t, err, ""); category.ID != m.lastCategory {
		t.Fatalf("created the category %d, want %d", category.ID, m.lastCategory)
	}
	m.categories[m.lastCategory] = name
}

func (m *model) putCategory(t *rapid.T) {
	id := rapid.Int64Range(-1, 6).Draw(t, "category")
	name := rapid.SampledFrom(someNames).Draw(t, "name")
	created, err := m.s.PutCategory(t.Context(), shop.Category{ID: id, Name: name}, nil)
	if _, found := m.categories[id]; err != nil || created == found {
		t.Fatalf("category %d was created: %v, want %v (%v)", id, created, !found, err)
	}
	m.categories[id] = name
}

func (m *model) deleteCategory(t *rapid.T) {
	id := rapid.Int64Range(-1, 6).Draw(t, "category")
	inUse := false
	for _, pet := range m.pets {
		inUse = inUse || pet.CategoryID == id
	}
	err := m.s.DeleteCategory(t.Context(), id, nil)
	switch _, found := m.categories[id]; {
	case !found:
		wantCode(t, err, shop.NotFound)
	case inUse:
		wantCode(t, err, shop.CategoryInUse)
	default:
		wantCode(t, err, "")
		delete(m.categories, id)
	}
}

// expireHold lets time pass. If a hold expires, the next operation concerns its animal.
func (m *model) expireHold(t *rapid.T) {
	var held []shop.Order
	for id := range m.lastOrder {
		if order := m.orders[id+1]; order.Status == shop.Placed {
			held = append(held, order)
		}
	}
	m.s.Clock.Forward(time.Duration(rapid.SampledFrom([]int{73, 1, 40}).Draw(t, "hours")) * time.Hour)
	if len(held) == 0 {
		return
	}
	order := rapid.SampledFrom(held).Draw(t, "held")
	switch rapid.SampledFrom([]string{"update", "delete", "order", "approve"}).Draw(t, "operation") {
	case "update":
		m.updatePet(t, order.PetID)
	case "delete":
		m.deletePet(t, order.PetID)
	case "order":
		m.placeOrder(t, order.PetID)
	case "approve":
		m.updateOrder(t, order.ID, shop.Approved)
	}
}

// compare compares everything that the service shows with the model.
func (m *model) compare(t *rapid.T) {
	m.settle()
	all := shop.PageRequest{Limit: 1000}
	status := append(shop.Statuses(), "")[len(m.orders)%4] // checking one status each time is enough; "" means all
	pets, err := m.s.ListPets(t.Context(), shop.PetList{PetFilter: shop.PetFilter{Status: status}, PageRequest: all})
	wantCode(t, err, "")
	wantPets := slices.DeleteFunc(slices.Collect(maps.Values(m.pets)), func(p shop.Pet) bool { return status != "" && p.Status != status })
	compareAll(t, string(status)+" animals", pets.Items, wantPets, func(p shop.Pet) int64 { return -p.ID })

	categories, err := m.s.ListCategories(t.Context(), all)
	wantCode(t, err, "")
	var wantCategories []shop.Category
	for id, name := range m.categories {
		wantCategories = append(wantCategories, shop.Category{ID: id, Name: name})
	}
	compareAll(t, "categories", categories.Items, wantCategories, func(c shop.Category) int64 { return c.ID })

	orders, err := m.s.ListOrders(t.Context(), shop.OrderList{PageRequest: all})
	wantCode(t, err, "")
	open := map[int64]int{}
	for i, order := range orders.Items {
		if order.Status == shop.Placed || order.Status == shop.Approved {
			if open[order.PetID]++; open[order.PetID] > 1 {
				t.Fatalf("the animal %d has two open orders", order.PetID)
			}
		}
		orders.Items[i].UpdatedAt = order.CreatedAt // the model does not know when an order was changed
	}
	compareAll(t, "orders", orders.Items, slices.Collect(maps.Values(m.orders)), func(o shop.Order) int64 { return -o.ID })

	inventory, err := m.s.Inventory(t.Context())
	wantCode(t, err, "")
	var counted shop.Inventory
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

// compareAll checks that got is sorted by key and contains the same items as want.
func compareAll[T comparable](t *rapid.T, what string, got, want []T, key func(T) int64) {
	t.Helper()
	slices.SortFunc(want, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	if !slices.Equal(got, want) {
		t.Fatalf("the %s are\n%+v\nwant\n%+v", what, got, want)
	}
}
