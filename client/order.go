package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// OrderStatus is the state of an order.
type OrderStatus string

const (
	OrderPlaced    OrderStatus = "placed"    // the order holds its animal until HoldExpiresAt
	OrderApproved  OrderStatus = "approved"  // the order holds its animal until the order is delivered or cancelled
	OrderDelivered OrderStatus = "delivered" // the animal is sold
	OrderCancelled OrderStatus = "cancelled" // the animal is available again
	OrderExpired   OrderStatus = "expired"   // the hold has expired, and the animal is available again
)

// Customer is the person who has ordered an animal. Empty fields are not set.
type Customer struct {
	Name  string `json:"name,omitempty"`
	Phone string `json:"phone,omitempty"`
	Email string `json:"email,omitempty"`
}

// CustomerUpdate describes a change to a customer. Fields that are nil stay unchanged, and a pointer to "" removes a
// field.
type CustomerUpdate struct{ Name, Phone, Email *string }

// Order is a customer's order for one animal. While its status is placed or approved, it holds the animal for
// the customer.
type Order struct {
	ID            int64       `json:"id"`
	PetID         int64       `json:"petId"`
	Status        OrderStatus `json:"status"`
	Reference     string      `json:"reference,omitempty"`
	PickupDate    string      `json:"pickupDate,omitempty"` // YYYY-MM-DD
	Price         *Price      `json:"price,omitempty"`
	Customer      *Customer   `json:"customer,omitempty"` // only for keys with the scope customers; nil if there is none
	CreatedAt     time.Time   `json:"createdAt"`
	UpdatedAt     time.Time   `json:"updatedAt"`
	HoldExpiresAt time.Time   `json:"holdExpiresAt,omitzero"` // zero unless the status is placed
	// ETag identifies the current state of the order for use with [IfMatch]. It is empty in lists.
	ETag string `json:"-"`
}

// NewOrder describes an order to place.
type NewOrder struct {
	PetID      int64  `json:"petId"`
	Reference  string `json:"reference,omitempty"`  // free text of up to 200 characters
	PickupDate string `json:"pickupDate,omitempty"` // YYYY-MM-DD
	Price      *Price `json:"price,omitempty"`      // nil means the price of the animal's profile, and a pointer to Price{} means none
	// Customer may be set by every key that can place orders, but only keys with the scope customers get it back. If a
	// response was lost, the response to the retry comes without it.
	Customer *Customer `json:"customer,omitempty"`
}

// MarshalJSON encodes the order. No price becomes null.
func (n NewOrder) MarshalJSON() ([]byte, error) {
	type plain NewOrder
	if n.Price == nil || *n.Price != (Price{}) {
		return json.Marshal(plain(n))
	}
	n.Price = nil
	text, err := json.Marshal(plain(n))
	return removeMembers(text, err, []string{"price"})
}

// OrderUpdate describes a change to an order. Fields that are nil stay unchanged.
type OrderUpdate struct {
	Status        *OrderStatus
	Reference     *string // a pointer to "" removes the reference
	PickupDate    *string // YYYY-MM-DD; a pointer to "" removes the date
	Price         *Price  // a pointer to Price{} removes the price
	Customer      *CustomerUpdate
	HoldExpiresAt *time.Time // must be in the future and at most a year ahead; cannot be combined with Status
}

// MarshalJSON encodes the change as a JSON Merge Patch.
func (u OrderUpdate) MarshalJSON() ([]byte, error) {
	members := map[string]any{}
	if u.Status != nil {
		members["status"] = *u.Status
	}
	addTexts(members, map[string]*string{"reference": u.Reference, "pickupDate": u.PickupDate})
	if c := u.Customer; c != nil {
		customer := map[string]any{}
		addTexts(customer, map[string]*string{"name": c.Name, "phone": c.Phone, "email": c.Email})
		members["customer"] = customer
	}
	if u.Price != nil && *u.Price == (Price{}) {
		members["price"] = nil
	} else if u.Price != nil {
		members["price"] = *u.Price
	}
	if u.HoldExpiresAt != nil {
		members["holdExpiresAt"] = *u.HoldExpiresAt
	}
	return json.Marshal(members)
}

// addTexts adds the texts that are not nil to the members of a merge patch. An empty text becomes null.
func addTexts(members map[string]any, texts map[string]*string) {
	for name, text := range texts {
		if text != nil && *text == "" {
			members[name] = nil
		} else if text != nil {
			members[name] = *text
		}
	}
}

// OrderQuery selects the orders to list. Fields with their zero value are ignored.
type OrderQuery struct {
	Status     OrderStatus
	PetID      int64
	PickupDate string // YYYY-MM-DD
	Text       string // words that the reference or, with the scope customers, the customer must contain, in any order; case and diacritics are ignored
	Limit      int    // the number of orders per page, 1 to 100
	Cursor     string // the value of next returned by ListOrders; empty for the first page
}

func (q OrderQuery) values() url.Values {
	query := pageQuery(q.Limit, q.Cursor)
	if q.Status != "" {
		query.Set("status", string(q.Status))
	}
	if q.PetID != 0 {
		query.Set("petId", strconv.FormatInt(q.PetID, 10))
	}
	if q.PickupDate != "" {
		query.Set("pickupDate", q.PickupDate)
	}
	if q.Text != "" {
		query.Set("q", q.Text)
	}
	return query
}

// ListOrders returns one page of orders, newest first. The default page size is 20. To get the next page, set Cursor
// to the returned value of next, which is empty on the last page. If the query has a Text, a page may have fewer
// orders than the limit, or none, even if another page follows. [Client.Orders] iterates over all pages.
func (c *Client) ListOrders(ctx context.Context, q OrderQuery) (orders []Order, next string, err error) {
	return fetchPage[Order](ctx, c, "/store/orders", byCursor, q.values())
}

// Orders iterates over all orders that match a query, newest first. The first error is yielded and ends the
// iteration.
func (c *Client) Orders(ctx context.Context, q OrderQuery) iter.Seq2[Order, error] {
	return all[Order](ctx, c, "/store/orders", byCursor, q.values())
}

// PlaceOrder orders an available animal, which then becomes pending. If several clients order the same animal
// at the same time, one of them gets it and the others fail with [CodePetNotAvailable]. PlaceOrder fails with
// [CodePetNotFound] if the animal does not exist.
func (c *Client) PlaceOrder(ctx context.Context, n NewOrder, options ...PostOption) (order Order, err error) {
	got, err := c.post(ctx, "/store/orders", n, options, &order)
	return order.withETag(got), err
}

// GetOrder returns the order with this id. It fails with [CodeNotFound] if there is none.
func (c *Client) GetOrder(ctx context.Context, id int64) (order Order, err error) {
	got, err := c.get(ctx, pathOf("/store/orders", id), nil, &order)
	return order.withETag(got), err
}

// UpdateOrder changes an order and returns its new state. It fails with [CodeNotFound] if the order does not
// exist and with [CodeInvalidTransition] if its current status does not allow the change: the end of
// the hold can be changed while the order is placed, and the rest while it is placed or approved. If a condition is
// not met, UpdateOrder fails with [CodePreconditionFailed].
func (c *Client) UpdateOrder(ctx context.Context, id int64, u OrderUpdate, conditions ...Condition) (order Order, err error) {
	r := request{method: http.MethodPatch, path: pathOf("/store/orders", id), body: u}
	got, err := c.do(ctx, r.withConditions(conditions), &order)
	return order.withETag(got), err
}

// ApproveOrder approves a placed order, so that its hold no longer expires. It fails with [CodeNotFound] if
// the order does not exist and with [CodeInvalidTransition] if its current status does not allow the change.
func (c *Client) ApproveOrder(ctx context.Context, id int64) (Order, error) {
	return c.UpdateOrder(ctx, id, OrderUpdate{Status: new(OrderApproved)})
}

// DeliverOrder completes an approved order, so that its animal is sold. It returns the same errors as
// [Client.ApproveOrder].
func (c *Client) DeliverOrder(ctx context.Context, id int64) (Order, error) {
	return c.UpdateOrder(ctx, id, OrderUpdate{Status: new(OrderDelivered)})
}

// CancelOrder cancels a placed or approved order, so that its animal is available again. It returns the same errors as
// [Client.ApproveOrder].
func (c *Client) CancelOrder(ctx context.Context, id int64) (Order, error) {
	return c.UpdateOrder(ctx, id, OrderUpdate{Status: new(OrderCancelled)})
}

// UndoOrder takes back the last change of an order's status and returns the order with its earlier status. A sold
// animal becomes pending again. UndoOrder fails with [CodeNotFound] if the order does not exist, and with
// [CodeUndoNotPossible] if the change is older than 24 hours or was an undo itself, or if the status of the animal has
// changed since. If a condition is not met, it fails with [CodePreconditionFailed].
func (c *Client) UndoOrder(ctx context.Context, id int64, conditions ...Condition) (order Order, err error) {
	r := request{method: http.MethodPost, path: pathOf("/store/orders", id) + "/undo", idempotencyKey: rand.Text()}
	got, err := c.do(ctx, r.withConditions(conditions), &order)
	return order.withETag(got), err
}

// EraseCustomer removes the customer of an order for good, whatever the status of the order is. It needs the scope
// customers. It fails with [CodeNotFound] if the order does not exist and with [CodePreconditionFailed] if a condition is
// not met.
func (c *Client) EraseCustomer(ctx context.Context, id int64, conditions ...Condition) error {
	r := request{method: http.MethodDelete, path: pathOf("/store/orders", id) + "/customer"}
	_, err := c.do(ctx, r.withConditions(conditions), nil)
	return err
}

func (o Order) withETag(got apiResponse) Order {
	o.ETag = got.header.Get("ETag")
	return o
}
