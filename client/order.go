package client

import (
	"context"
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

// Order is a customer's order for one animal. While its status is placed or approved, it holds the animal for
// the customer.
type Order struct {
	ID            int64       `json:"id"`
	PetID         int64       `json:"petId"`
	Status        OrderStatus `json:"status"`
	Reference     string      `json:"reference,omitempty"`
	CreatedAt     time.Time   `json:"createdAt"`
	UpdatedAt     time.Time   `json:"updatedAt"`
	HoldExpiresAt time.Time   `json:"holdExpiresAt,omitzero"` // zero unless the status is placed
}

// NewOrder describes an order to place.
type NewOrder struct {
	PetID     int64  `json:"petId"`
	Reference string `json:"reference,omitempty"` // free text of up to 200 characters
}

// OrderQuery selects the orders to list. Fields with their zero value are ignored.
type OrderQuery struct {
	Status OrderStatus
	PetID  int64
	Text   string // words that the reference must contain, in any order; case and diacritics are ignored
	Limit  int    // the number of orders per page, 1 to 100
	Cursor string // the value of next returned by ListOrders; empty for the first page
}

func (q OrderQuery) values() url.Values {
	query := pageQuery(q.Limit, q.Cursor)
	if q.Status != "" {
		query.Set("status", string(q.Status))
	}
	if q.PetID != 0 {
		query.Set("petId", strconv.FormatInt(q.PetID, 10))
	}
	if q.Text != "" {
		query.Set("q", q.Text)
	}
	return query
}

// Inventory holds the number of animals with each status.
type Inventory struct {
	Available   int64 `json:"available"`
	Pending     int64 `json:"pending"`
	Sold        int64 `json:"sold"`
	Unspecified int64 `json:"unspecified"` // the number of animals without a status
}

// ListOrders returns one page of orders, newest first. The default page size is 20. To get the next page, set
// Cursor to the returned value of next, which is empty on the last page. If the query has a Text, a page may
// have fewer orders than the limit, or none, although another page follows. [Client.Orders] iterates over all
// pages.
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
	_, err = c.post(ctx, "/store/orders", n, options, &order)
	return order, err
}

// GetOrder returns the order with this id. It fails with [CodeNotFound] if there is none.
func (c *Client) GetOrder(ctx context.Context, id int64) (order Order, err error) {
	_, err = c.get(ctx, pathOf("/store/orders", id), nil, &order)
	return order, err
}

// ApproveOrder approves a placed order, so that its hold no longer expires. It fails with [CodeNotFound] if
// the order does not exist and with [CodeInvalidTransition] if its current status does not allow the change.
func (c *Client) ApproveOrder(ctx context.Context, id int64) (Order, error) {
	return c.setOrderStatus(ctx, id, OrderApproved)
}

// DeliverOrder completes an approved order, whose animal is then sold. It returns the same errors as
// [Client.ApproveOrder].
func (c *Client) DeliverOrder(ctx context.Context, id int64) (Order, error) {
	return c.setOrderStatus(ctx, id, OrderDelivered)
}

// CancelOrder cancels a placed or approved order, whose animal is then available again. It returns the same
// errors as [Client.ApproveOrder].
func (c *Client) CancelOrder(ctx context.Context, id int64) (Order, error) {
	return c.setOrderStatus(ctx, id, OrderCancelled)
}

func (c *Client) setOrderStatus(ctx context.Context, id int64, to OrderStatus) (order Order, err error) {
	body := struct {
		Status OrderStatus `json:"status"`
	}{to}
	_, err = c.do(ctx, request{method: http.MethodPatch, path: pathOf("/store/orders", id), body: body}, &order)
	return order, err
}

// Inventory returns the number of animals with each status. It is fast regardless of the number of animals.
func (c *Client) Inventory(ctx context.Context) (inventory Inventory, err error) {
	_, err = c.get(ctx, "/store/inventory", nil, &inventory)
	return inventory, err
}
