package shop_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A customer can be changed while the order is open, survives every step and undo, and can be erased in every status. The
// events never contain it.
func TestCustomerIsErasedInEveryStatus(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	ctx, by := t.Context(), shop.Caller{}
	for _, status := range shop.OrderStatuses() {
		order := orderAt(t, s, status)
		equal(t, "the customer of an order that is "+string(status), order.Customer, orderCustomer)
		_, err := s.UpdateOrder(ctx, by, order.ID, shop.OrderChange{Customer: shop.CustomerChange{Phone: new("555 0101")}}, nil)
		equal(t, "changing an order that is "+string(status), codeOf(err) == "", order.IsOpen())
		last := must(s.LastEvent(ctx))(t)
		for range 2 {
			check(t, s.EraseCustomer(ctx, by, order.ID, nil))
		}
		erased := must(s.Order(ctx, order.ID))(t)
		equal(t, "the erased customer", erased.Customer, shop.Customer{})
		events, _, err := s.EventsAfter(ctx, by, shop.EventFilter{}, last)
		check(t, err)
		if len(events) != 1 || events[0].Type != shop.OrderUpdated || !erased.UpdatedAt.After(order.UpdatedAt) || erased.Status != status {
			t.Errorf("erasing twice recorded %v, and the order is %+v", events, erased)
		}
	}
	equal(t, "the code for an order that does not exist", codeOf(s.EraseCustomer(ctx, by, 99, nil)), shop.NotFound)
	delivered := orderAt(t, s, shop.Delivered)
	equal(t, "the customer after an undo", must(s.UndoOrder(ctx, by, delivered.ID, nil))(t).Customer, orderCustomer)
	events, _, err := s.EventsAfter(ctx, by, shop.EventFilter{}, 0)
	check(t, err)
	for _, e := range events {
		if bytes.Contains(e.Data, []byte("Ann")) || bytes.Contains(e.Data, []byte("customer")) {
			t.Errorf("the event %s shows the customer: %s", e.Type, e.Data)
		}
	}
}

func TestCustomersAreValidated(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	pet := s.AddPet(t, "Rex", 1, shop.Available)
	for problem, customer := range map[string]shop.Customer{
		"customer.name must have 1 to 200":  {Name: strings.Repeat("x", 201)},
		"customer.name must not contain":    {Name: "Ann\nMiller"},
		"customer.phone must have 1 to 50":  {Phone: strings.Repeat("5", 51)},
		"customer.email must have one @":    {Email: "ann"},
		"customer.email must have one @ wi": {Email: "ann@b@c"},
	} {
		if _, err := s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: pet.ID, Customer: customer}); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%+v: got %v, want %q", customer, err, problem)
		}
	}
}

// With a retention, customers are erased that long after the order was closed, by the system. Those of open orders stay.
func TestCustomersOfClosedOrdersAreErasedAfterTheirRetention(t *testing.T) {
	const retention = 30 * 24 * time.Hour
	inVirtualTime(t, shop.Options{CustomerRetention: retention, OrderHold: 300 * 24 * time.Hour}, func(t *testing.T, s *shoptest.Shop) {
		ctx := t.Context()
		var orders []shop.Order
		for _, status := range []shop.OrderStatus{shop.Delivered, shop.Cancelled, shop.Placed, shop.Approved} {
			orders = append(orders, orderAt(t, s, status))
		}
		s.Clock.Forward(retention - time.Minute)
		late := orderAt(t, s, shop.Delivered)
		erased := func() (statuses []shop.OrderStatus) {
			check(t, s.EraseOldCustomers(ctx))
			for _, order := range append(orders, late) {
				if must(s.Order(ctx, order.ID))(t).Customer == (shop.Customer{}) {
					statuses = append(statuses, order.Status)
				}
			}
			return statuses
		}
		equal(t, "those erased before the end", len(erased()), 0)
		s.Clock.Forward(time.Minute)
		equal(t, "those erased after it", fmt.Sprint(erased()), "[delivered cancelled]")
		subject := fmt.Sprint("store/orders/", orders[0].ID)
		page := must(s.ListEvents(ctx, shop.Caller{}, shop.EventFilter{Subjects: []string{subject}, Newest: true}, shop.PageRequest{Limit: 1}))(t)
		if e := page.Items[0]; e.Type != shop.OrderUpdated || e.Actor != "system" {
			t.Errorf("the last event is %s by %s", e.Type, e.Actor)
		}
	})
}

// On SQLite, the bytes of erased customers are overwritten in the file, and the WAL is truncated as soon as no reader needs it.
func TestErasedCustomersAreOverwritten(t *testing.T) {
	t.Parallel()
	s := shoptest.Open(t, shoptest.Options{})
	ctx, by := t.Context(), shop.Caller{}
	const marker = "Nqzx"
	var ids []int64
	for i := range 300 {
		pet := s.AddPet(t, "Rex", 1, shop.Available)
		customer := shop.Customer{Name: marker + strings.Repeat("y", i%150), Phone: marker + fmt.Sprint(i), Email: marker + "@example.com"}
		order := must(s.PlaceOrder(ctx, by, shop.NewOrder{PetID: pet.ID, Reference: strings.Repeat("r", i%7*20+1), Customer: customer}))(t)
		ids = append(ids, order.ID)
	}
	for i, id := range ids {
		change := shop.OrderChange{Reference: new(strings.Repeat("z", 1+i*37%200))}
		if i%3 == 0 {
			change.Customer.Name = new(marker + strings.Repeat("w", i*13%180))
		}
		if i%5 == 0 {
			change.Status = new(shop.Cancelled)
		}
		must(s.UpdateOrder(ctx, by, id, change, nil))(t)
	}
	check(t, s.IndexSearch(ctx))
	count := func(name string) int { return bytes.Count(must(os.ReadFile(name))(t), []byte(marker)) }
	if count(s.Database)+count(s.Database+"-wal") < 300 {
		t.Fatal("the files do not contain the customers")
	}
	for _, id := range ids {
		check(t, s.EraseCustomer(ctx, by, id, nil))
	}
	for _, name := range []string{s.Database, s.Database + "-wal"} {
		if n := count(name); n > 0 {
			t.Errorf("%s contains parts of customers in %d places", filepath.Base(name), n)
		}
	}
	check(t, s.IndexSearch(ctx))
	page := must(s.ListOrders(ctx, by, shop.OrderList{Query: marker, Customers: true, PageRequest: shop.PageRequest{Limit: 10}}))(t)
	equal(t, "the orders found", len(page.Items), 0)
}
