package shop

import (
	"context"
	"slices"
	"time"
)

// OrderStatus is the stage that an order has reached.
type OrderStatus string

const (
	Placed    OrderStatus = "placed"    // the order holds its animal until the hold expires
	Approved  OrderStatus = "approved"  // the order holds its animal until the order is delivered or cancelled
	Delivered OrderStatus = "delivered" // the animal is sold
	Cancelled OrderStatus = "cancelled" // the animal is available again
	Expired   OrderStatus = "expired"   // the hold expired; the animal is available again
)

// OrderStatuses returns every status that an order can have.
func OrderStatuses() []OrderStatus {
	return []OrderStatus{Placed, Approved, Delivered, Cancelled, Expired}
}

// OrderStatusProblem explains why a status sent by a client is invalid. It returns "" if the status is valid.
func OrderStatusProblem(s string) string {
	if slices.Contains(OrderStatuses(), OrderStatus(s)) {
		return ""
	}
	return "must be one of placed, approved, delivered, cancelled, expired"
}

// orderTransitions maps each order status to the statuses that a client can change it to. Setting the same
// status again is always allowed.
var orderTransitions = map[OrderStatus][]OrderStatus{
	Placed:   {Approved, Cancelled},
	Approved: {Delivered, Cancelled},
}

// Transitions returns the statuses that a client can give to an order that has the status s.
func (s OrderStatus) Transitions() []OrderStatus { return slices.Clone(orderTransitions[s]) }

// petStatusAfter maps the new status of an order to the status that its animal then has.
var petStatusAfter = map[OrderStatus]Status{
	Placed:    Pending,
	Approved:  Pending,
	Delivered: Sold,
	Cancelled: Available,
	Expired:   Available,
}

// PetStatus returns the status of the animal of an order that has the status s, while nobody else has changed the animal.
func (s OrderStatus) PetStatus() Status { return petStatusAfter[s] }

// IsOpen reports whether the order holds its animal.
func (o Order) IsOpen() bool { return len(orderTransitions[o.Status]) > 0 }

// NewOrder describes an order to be placed.
type NewOrder struct {
	PetID      int64
	Reference  string // free text from the client; may be empty
	PickupDate string // YYYY-MM-DD; may be empty
	Price      *Price // nil means the price of the animal's profile, and a pointer to the zero value means none
	Customer   Customer
}

// Problems validates the fields of a new order.
func (n NewOrder) Problems() (p Problems) {
	if n.Reference != "" {
		if reason := TextProblem(n.Reference); reason != "" {
			p.Add("reference", reason)
		}
	}
	if n.PickupDate != "" {
		if reason := DateProblem(n.PickupDate); reason != "" {
			p.Add("pickupDate", reason)
		}
	}
	if n.Price != nil && *n.Price != (Price{}) {
		p.Merge(n.Price.Problems())
	}
	p.Merge(n.Customer.Problems())
	return p
}

// Order reserves one animal for a client. The reservation ends when the order is delivered, is cancelled or
// expires.
type Order struct {
	ID         int64       `json:"id"`
	PetID      int64       `json:"petId"`
	Status     OrderStatus `json:"status"`
	Reference  string      `json:"reference,omitempty"`
	PickupDate string      `json:"pickupDate,omitempty"` // YYYY-MM-DD
	Price      Price       `json:"price,omitzero"`
	// Customer is not part of the JSON, so that nothing shows it unless it says so. See ForKey.
	Customer      Customer  `json:"-"`
	CreatedAt     time.Time `json:"createdAt"`
	UpdatedAt     time.Time `json:"updatedAt"`
	HoldExpiresAt time.Time `json:"holdExpiresAt,omitzero"` // set only while the order has the status placed
	// LastChange is the last change of the status. It is kept for UndoOrder and shown nowhere.
	LastChange StatusChange `json:"-"`
}

// OrderList selects one page of the orders that match all of its fields, newest first. Fields with their zero value
// match every order. If OldestFirst is set, the oldest orders come first, except in a search, which always returns
// the newest first.
type OrderList struct {
	Status     OrderStatus
	PetID      *int64
	PickupDate string    // YYYY-MM-DD
	Query      string    // selects orders whose words contain every word of this text; see ContainsWords
	Customers  bool      // whether Query also looks into the customers, and not only into the references
	HoldFrom   time.Time // selects orders whose hold ends at this time or later; ignored in a search
	PageRequest
	OldestFirst bool
}

// Words returns the texts in which a search looks, each on a line of its own. They contain those of the customer only if
// customers is set.
func (o Order) Words(customers bool) string {
	if !customers {
		return o.Reference
	}
	return o.Reference + "\n" + o.Customer.Words()
}

// ListOrders returns one page of orders, newest first.
func (s *Service) ListOrders(ctx context.Context, by Caller, list OrderList) (Page[Order], error) {
	heavy := list.isHeavy() // unlike a search, a short list needs only one query
	return readCurrent(ctx, s, Reading{By: by, Heavy: heavy, SingleQuery: !heavy}, list.read)
}

// read is like PetList.read, but for orders.
func (l OrderList) read(tx ReadTx) (Page[Order], error) {
	if l.Query != "" {
		return tx.SearchOrders(l)
	}
	limit := l.Limit
	l.PageRequest = l.oneMore()
	orders, err := tx.Orders(l)
	return pageOf(limit, orders, err)
}

// Order returns the order with the given id. It fails with not_found if there is none.
func (s *Service) Order(ctx context.Context, id int64) (Order, error) {
	return readCurrent(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) (Order, error) { return existingOrder(tx, id) })
}

func existingOrder(tx ReadTx, id int64) (Order, error) {
	order, found, err := tx.Order(id)
	if err == nil && !found {
		err = Errorf(NotFound, "There is no order with the id %d; list the orders to find an existing one.", id)
	}
	return order, err
}

// PlaceOrder creates an order that reserves an available animal. If several orders for the same animal are
// placed concurrently, only one of them succeeds. PlaceOrder fails with validation_failed, pet_not_found or
// pet_not_available.
func (s *Service) PlaceOrder(ctx context.Context, by Caller, n NewOrder) (Order, error) {
	if err := n.Problems().Err(); err != nil {
		return Order{}, err
	}
	rows := &WriteSet{Pets: []int64{n.PetID}}
	return write(ctx, s, Writing{By: by, Rows: rows, Texts: n.Reference != "" || n.Customer != (Customer{})}, func(tx *eventTx) (Order, error) { return s.placeOrder(tx, n) })
}

func (s *Service) placeOrder(tx *eventTx, n NewOrder) (Order, error) {
	if err := expireDueHold(tx, n.PetID); err != nil {
		return Order{}, err
	}
	pet, found, err := tx.Pet(n.PetID)
	if err != nil {
		return Order{}, err
	}
	if !found {
		return Order{}, Errorf(PetNotFound, "There is no animal with the id %d; list the animals to find an existing one.", n.PetID)
	}
	if pet.Status != Available {
		return Order{}, Errorf(PetNotAvailable, "Animal %d is not available; only available animals can be ordered.", pet.ID)
	}
	now, err := tx.Now()
	if err != nil {
		return Order{}, err
	}
	var price Price
	if n.Price != nil {
		price = *n.Price
	} else if price, err = tx.Price(pet.ID); err != nil {
		return Order{}, err
	}
	order, err := tx.InsertOrder(Order{
		PetID: pet.ID, Status: Placed, Reference: n.Reference, PickupDate: n.PickupDate, Price: price, Customer: n.Customer,
		CreatedAt: now, UpdatedAt: now, HoldExpiresAt: now.Add(s.orderHold),
	})
	if err != nil {
		return Order{}, err
	}
	held := pet
	held.Status = Pending
	return order, tx.UpdatePet(pet, held)
}

// OrderReader contains the methods of ReadTx that read orders.
type OrderReader interface {
	// Order returns the order with the given id and whether it exists.
	Order(id int64) (Order, bool, error)
	// Orders returns at most list.Limit orders, sorted by descending id, or by ascending id if
	// list.OldestFirst is set. It ignores list.Query.
	Orders(list OrderList) ([]Order, error)
	// OpenOrder returns the placed or approved order for an animal and whether there is one.
	OpenOrder(petID int64) (Order, bool, error)
	// OpenOrders returns the placed and approved orders for several animals in no particular order.
	OpenOrders(petIDs []int64) ([]Order, error)
	// ClosedWithCustomer returns a limited number of the delivered, cancelled and expired orders that still have a
	// customer and have this status since the given time or before. The order that was closed first comes first.
	ClosedWithCustomer(before time.Time) ([]Order, error)
	// NextHold returns the time when the next hold expires, or the zero time if there are no holds.
	NextHold() (time.Time, error)
	// DueOrders returns a limited number of the placed orders whose hold expires at or before the given time. The
	// order whose hold expires first comes first.
	DueOrders(at time.Time) ([]Order, error)
	// Holds returns at most limit placed orders whose hold expires not earlier than from, but earlier than to. The
	// order whose hold expires first comes first.
	Holds(from, to time.Time, limit int) ([]Order, error)
	// Pickups returns at most limit placed and approved orders whose pick-up date is not earlier than from, but earlier
	// than to. The earliest date comes first. If both dates are "", it returns the orders without a date, oldest first.
	Pickups(from, to string, limit int) ([]Order, error)
}

// OrderMutations contains the methods of Mutations that change orders.
type OrderMutations interface {
	// InsertOrder stores an order under a new id and returns the stored order. It ignores the ID field of
	// its argument. The new id is larger than every id assigned before.
	InsertOrder(Order) (Order, error)
	// UpdateOrder stores everything that can change of an order, which is all but its id, its animal and its CreatedAt.
	UpdateOrder(before, after Order) error
}
