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

// TestServiceFollowsTheModel runs random sequences of all operations on animals, categories and orders. The
// service must always agree with a small model of the rules, in which no animal has two open orders.
func TestServiceFollowsTheModel(t *testing.T) {
	t.Parallel()
	dir, n := shoptest.TempDir(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		s := must(shoptest.OpenAt(t.Context(), filepath.Join(dir, fmt.Sprint(n)), shop.Options{}))(rt)
		defer s.Store.Close()
		m := &model{s: s, pets: map[int64]*shop.Pet{}, orders: map[int64]*shop.Order{}, categories: map[int64]string{},
			changes: map[int64]int64{}, steps: map[int64]step{}}
		rt.Repeat(map[string]func(*rapid.T){
			"create pet":      m.createPet,
			"update pet":      func(t *rapid.T) { m.updatePet(t, m.somePet(t)) },
			"delete pet":      func(t *rapid.T) { m.deletePet(t, m.somePet(t)) },
			"place order":     func(t *rapid.T) { m.placeOrder(t, m.somePet(t)) },
			"update order":    func(t *rapid.T) { m.updateOrder(t, m.someOrder(t), draw(t, "to", shop.OrderStatuses()...)) },
			"change order":    func(t *rapid.T) { m.changeOrder(t, m.someOrder(t)) },
			"advance order":   func(t *rapid.T) { m.updateOrder(t, m.someOrder(t), draw(t, "to", shop.Approved, shop.Delivered)) },
			"undo order":      m.undoOrder,
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
	pets                             map[int64]*shop.Pet
	orders                           map[int64]*shop.Order
	categories                       map[int64]string
	changes                          map[int64]int64 // how often the status of each animal has changed
	steps                            map[int64]step  // the last change of each order's status
	lastPet, lastOrder, lastCategory int64
}

// step is a change of an order's status.
type step struct {
	at      time.Time
	before  shop.OrderStatus
	hold    time.Time
	changes int64 // those of the animal after the step
	isUndo  bool
}

func draw[T any](t *rapid.T, what string, from ...T) T { return rapid.SampledFrom(from).Draw(t, what) }
func drawName(t *rapid.T) string                       { return draw(t, "name", "Rex", "mia", "REXINA", "Žofka") }
func drawCategory(t *rapid.T) int64                    { return rapid.Int64Range(-1, 5).Draw(t, "category") }

func (m *model) somePet(t *rapid.T) int64 {
	return someID(t, m.lastPet, func(id int64) bool { return m.pets[id] != nil && m.pets[id].Status == shop.Available })
}

func (m *model) someOrder(t *rapid.T) int64 {
	return someID(t, m.lastOrder, func(id int64) bool { return isOpen(m.orders[id]) })
}

// someID draws one of the ids used so far or the next id, which does not exist yet. If prefer returns true for an id,
// someID is more likely to draw it, because most operations on the other ids are refused.
func someID(t *rapid.T, last int64, prefer func(id int64) bool) int64 {
	ids := []int64{last + 1}
	for id := int64(1); id <= last; id++ {
		if ids = append(ids, id); prefer(id) {
			ids = append(ids, id, id, id, id)
		}
	}
	return draw(t, "id", ids...)
}

func isOpen(order *shop.Order) bool {
	return order.Status == shop.Placed || order.Status == shop.Approved
}

// advance changes the status of an order and of its animal.
func (m *model) advance(order *shop.Order, to shop.OrderStatus) {
	before := *order
	order.Status, order.HoldExpiresAt = to, time.Time{}
	switch to {
	case shop.Placed, shop.Approved:
		m.setStatus(order.PetID, shop.Pending)
	case shop.Delivered:
		m.setStatus(order.PetID, shop.Sold)
	case shop.Cancelled, shop.Expired:
		m.setStatus(order.PetID, shop.Available)
	}
	m.steps[order.ID] = step{m.s.Clock.Now(), before.Status, before.HoldExpiresAt, m.changes[order.PetID], false}
}

func (m *model) setStatus(pet int64, status shop.Status) {
	if m.pets[pet].Status != status {
		m.pets[pet].Status = status
		m.changes[pet]++
	}
}

func (m *model) held(pet int64) bool {
	return anyOf(m.orders, func(o *shop.Order) bool { return o.PetID == pet && isOpen(o) })
}

func anyOf[T any](all map[int64]T, is func(T) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(all)), is)
}

func (m *model) createPet(t *rapid.T) {
	status := draw(t, "status", "", shop.Available, shop.Available, shop.Pending, shop.Sold)
	n := shop.NewPet{Name: drawName(t), CategoryID: drawCategory(t), Status: status}
	pet := must(m.s.CreatePet(t.Context(), shop.Caller{}, n))(t)
	m.lastPet++
	if want := n.WithID(m.lastPet); pet != want {
		t.Fatalf("created %+v, want %+v", pet, want)
	}
	m.pets[pet.ID] = &pet
	m.categories[pet.CategoryID] += "" // the category exists now
	if rapid.Bool().Draw(t, "order") {
		m.placeOrder(t, pet.ID)
	}
}

func (m *model) updatePet(t *rapid.T, id int64) {
	before, after, change := m.pets[id], shop.Pet{}, shop.PetChange{}
	if before != nil {
		after = *before
	}
	if rapid.Bool().Draw(t, "rename") {
		after.Name = drawName(t)
		change.Name = &after.Name
	}
	if rapid.Bool().Draw(t, "move") {
		after.CategoryID = drawCategory(t)
		change.CategoryID = &after.CategoryID
	}
	if rapid.Bool().Draw(t, "change status") {
		after.Status = draw(t, "status", shop.Statuses()...)
		change.Status = &after.Status
	}
	got, err := m.s.UpdatePet(t.Context(), shop.Caller{}, id, change, nil)
	switch {
	case before == nil:
		wantCode(t, err, shop.NotFound)
	case before.Status == shop.Sold && after.Status == shop.Pending:
		wantCode(t, err, shop.InvalidTransition)
	case after.Status != before.Status && m.held(id):
		wantCode(t, err, shop.PetHasOpenOrder)
	default:
		if wantCode(t, err, ""); got != after {
			t.Fatalf("changed to %+v, want %+v", got, after)
		}
		m.setStatus(id, after.Status)
		m.pets[id] = &after
		m.categories[after.CategoryID] += ""
	}
}

func (m *model) deletePet(t *rapid.T, id int64) {
	err := m.s.DeletePet(t.Context(), shop.Caller{}, id, nil)
	switch {
	case m.pets[id] == nil:
		wantCode(t, err, shop.NotFound)
	case m.held(id):
		wantCode(t, err, shop.PetHasOpenOrder)
	default:
		wantCode(t, err, "")
		delete(m.pets, id)
	}
}

func (m *model) placeOrder(t *rapid.T, id int64) {
	order, err := m.s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: id})
	switch pet := m.pets[id]; {
	case pet == nil:
		wantCode(t, err, shop.PetNotFound)
	case pet.Status != shop.Available:
		wantCode(t, err, shop.PetNotAvailable)
	default:
		wantCode(t, err, "")
		m.lastOrder++
		if order.ID != m.lastOrder || order.PetID != id || order.Status != shop.Placed {
			t.Fatalf("placed %+v", order)
		}
		m.orders[order.ID] = &order
		m.setStatus(id, shop.Pending)
	}
}

func (m *model) updateOrder(t *rapid.T, id int64, to shop.OrderStatus) {
	allowed := []string{"placed→approved", "approved→delivered", "placed→cancelled", "approved→cancelled"}
	_, err := m.s.UpdateOrder(t.Context(), shop.Caller{}, id, shop.OrderChange{Status: new(to)}, nil)
	switch order := m.orders[id]; {
	case order == nil:
		wantCode(t, err, shop.NotFound)
	case order.Status == to:
		wantCode(t, err, "")
	case !slices.Contains(allowed, string(order.Status)+"→"+string(to)):
		wantCode(t, err, shop.InvalidTransition)
	default:
		wantCode(t, err, "")
		m.advance(order, to)
	}
}

func (m *model) changeOrder(t *rapid.T, id int64) {
	change := shop.OrderChange{}
	if rapid.Bool().Draw(t, "reference") {
		change.Reference = new(draw(t, "reference", "", drawName(t)))
	}
	if rapid.Bool().Draw(t, "hold") {
		change.HoldExpiresAt = new(m.s.Clock.Now().Add(time.Duration(draw(t, "hours", 80, 2, 50)) * time.Hour).UTC().Truncate(time.Microsecond))
	}
	_, err := m.s.UpdateOrder(t.Context(), shop.Caller{}, id, change, nil)
	switch order := m.orders[id]; {
	case order == nil:
		wantCode(t, err, shop.NotFound)
	case change.HoldExpiresAt != nil && order.Status != shop.Placed,
		change.Reference != nil && *change.Reference != order.Reference && !isOpen(order):
		wantCode(t, err, shop.InvalidTransition)
	default:
		wantCode(t, err, "")
		if change.Reference != nil {
			order.Reference = *change.Reference
		}
		if change.HoldExpiresAt != nil {
			order.HoldExpiresAt = *change.HoldExpiresAt
		}
	}
}

// undoOrder prefers an order whose last step was no undo.
func (m *model) undoOrder(t *rapid.T) {
	id := someID(t, m.lastOrder, func(id int64) bool { return !m.steps[id].at.IsZero() && !m.steps[id].isUndo })
	undone, err := m.s.UndoOrder(t.Context(), shop.Caller{}, id, nil)
	now := m.s.Clock.Now()
	switch order, last := m.orders[id], m.steps[id]; {
	case order == nil:
		wantCode(t, err, shop.NotFound)
	case order.Status == shop.Expired, last.at.IsZero(), last.isUndo, now.Sub(last.at) > 24*time.Hour,
		m.pets[order.PetID] == nil, m.changes[order.PetID] != last.changes:
		wantCode(t, err, shop.UndoNotPossible)
	default:
		wantCode(t, err, "")
		m.advance(order, last.before)
		undo := m.steps[id]
		undo.isUndo = true
		m.steps[id] = undo
		// The hold ends an hour after the undo, whose time the model knows only roughly, or when it would have ended.
		hour := undone.HoldExpiresAt.Sub(now.Add(time.Hour))
		if order.Status == shop.Placed && !undone.HoldExpiresAt.Equal(last.hold) && (hour > 0 || hour < -time.Minute) {
			t.Fatalf("the hold of an undone order ends at %v", undone.HoldExpiresAt)
		}
		order.HoldExpiresAt = undone.HoldExpiresAt
	}
}

func (m *model) createCategory(t *rapid.T) {
	for taken := true; taken; {
		m.lastCategory++
		_, taken = m.categories[m.lastCategory]
	}
	name := drawName(t)
	if category := must(m.s.CreateCategory(t.Context(), shop.Caller{}, name))(t); category.ID != m.lastCategory {
		t.Fatalf("created the category %d, want %d", category.ID, m.lastCategory)
	}
	m.categories[m.lastCategory] = name
}

func (m *model) putCategory(t *rapid.T) {
	category := shop.Category{ID: drawCategory(t), Name: drawName(t)}
	created := must(m.s.PutCategory(t.Context(), shop.Caller{}, category, shop.PutCondition{}))(t)
	if _, found := m.categories[category.ID]; created == found {
		t.Fatalf("category %d was created: %v, want %v", category.ID, created, !found)
	}
	m.categories[category.ID] = category.Name
}

func (m *model) deleteCategory(t *rapid.T) {
	id := drawCategory(t)
	inUse := anyOf(m.pets, func(p *shop.Pet) bool { return p.CategoryID == id })
	err := m.s.DeleteCategory(t.Context(), shop.Caller{}, id, nil)
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

// expireHold moves the clock forward. It then runs an operation on a held animal or its order, whose hold may have
// expired.
func (m *model) expireHold(t *rapid.T) {
	m.s.Clock.Forward(time.Duration(draw(t, "hours", 73, 1, 40)) * time.Hour)
	var held []*shop.Order
	for id := range m.lastOrder {
		if order := m.orders[id+1]; order.Status == shop.Placed {
			held = append(held, order)
			if !m.s.Clock.Now().Before(order.HoldExpiresAt) {
				m.advance(order, shop.Expired)
			}
		}
	}
	if len(held) == 0 {
		return
	}
	order := draw(t, "held", held...)
	if rapid.Bool().Draw(t, "approve") {
		m.updateOrder(t, order.ID, shop.Approved)
	} else {
		draw(t, "operation", m.updatePet, m.deletePet, m.placeOrder)(t, order.PetID)
	}
}

// compare checks that the lists and counts that the service returns agree with the model.
func (m *model) compare(t *rapid.T) {
	all := shop.PageRequest{Limit: 1000}
	status := append(shop.Statuses(), "")[len(m.orders)%4] // checking one status each time is enough; "" means all
	var wantPets []shop.Pet
	var wantInventory shop.Inventory
	for _, pet := range m.pets {
		if status == "" || pet.Status == status {
			wantPets = append(wantPets, *pet)
		}
		*map[shop.Status]*int64{shop.Available: &wantInventory.Available, shop.Pending: &wantInventory.Pending,
			shop.Sold: &wantInventory.Sold, "": &wantInventory.Unspecified}[pet.Status]++
	}
	pets := must(m.s.ListPets(t.Context(), shop.Caller{}, shop.PetList{PetFilter: shop.PetFilter{Status: status}, PageRequest: all}, nil))(t)
	compareAll(t, string(status)+" animals", pets.Items, wantPets, func(p shop.Pet) int64 { return -p.ID })
	if inventory := must(m.s.Inventory(t.Context()))(t); inventory != wantInventory {
		t.Fatalf("the inventory is %+v, want %+v", inventory, wantInventory)
	}
	var wantCategories []shop.Category
	for id, name := range m.categories {
		wantCategories = append(wantCategories, shop.Category{ID: id, Name: name})
	}
	categories := must(m.s.ListCategories(t.Context(), all))(t)
	compareAll(t, "categories", categories.Items, wantCategories, func(c shop.Category) int64 { return c.ID })
	var wantOrders []shop.Order
	for _, order := range m.orders {
		wantOrders = append(wantOrders, *order)
	}
	orders := must(m.s.ListOrders(t.Context(), shop.Caller{}, shop.OrderList{PageRequest: all}))(t)
	for i, order := range orders.Items {
		orders.Items[i].UpdatedAt = order.CreatedAt // the model does not know when an order was changed
		orders.Items[i].LastChange = shop.StatusChange{}
	}
	compareAll(t, "orders", orders.Items, wantOrders, func(o shop.Order) int64 { return -o.ID })
}

// compareAll checks that got is sorted by key and contains the same items as want.
func compareAll[T comparable](t *rapid.T, what string, got, want []T, key func(T) int64) {
	t.Helper()
	slices.SortFunc(want, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	if !slices.Equal(got, want) {
		t.Fatalf("the %s are\n%+v\nwant\n%+v", what, got, want)
	}
}
