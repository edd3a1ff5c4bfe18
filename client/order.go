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
	OrderPlaced    OrderStatus = "placed"    // holds its animal until HoldExpiresAt
	OrderApproved  OrderStatus = "approved"  // holds its animal until it is delivered or cancelled
	OrderDelivered OrderStatus = "delivered" // the animal is sold
	OrderCancelled OrderStatus = "cancelled" // the animal is available again
	OrderExpired   OrderStatus = "expired"   // the hold expired, and the animal is available again
)

// Order is a customer's order for one animal. It holds the animal while it is placed or approved.
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
	Reference string `json:"reference,omitempty"` // free text, up to 200 characters
}

// OrderQuery selects the orders to list. Zero fields are ignored.
type OrderQuery struct {
	Status OrderStatus
	PetID  int64
	Limit  int    // page size, 1 to 100
	Cursor string // next from ListOrders; empty for the first page
}

func (q OrderQuery) values() url.Values {
	query := pageQuery(q.Limit, q.Cursor)
	if q.Status != "" {
		query.Set("status", string(q.Status))
	}
	if q.PetID != 0 {
		query.Set("petId", strconv.FormatInt(q.PetID, 10))
	}
	return query
}

// Inventory is the number of animals by status.
type Inventory struct {
	Available   int64 `json:"available"`
	Pending     int64 `json:"pending"`
	Sold        int64 `json:"sold"`
	Unspecified int64 `json:"unspecified"` // without a status
}

// ListOrders returns one page of orders, newest first; the default page size is 20. For the following page,
// set Cursor to next, which is empty on the last page. [Client.Orders] iterates over all pages.
func (c *Client) ListOrders(ctx context.Context, q OrderQuery) (orders []Order, next string, err error) {
	return fetchPage[Order](ctx, c, "/store/orders", byCursor, q.values())
}

// Orders iterates over all orders that match a query, newest first. It ends with the first error.
func (c *Client) Orders(ctx context.Context, q OrderQuery) iter.Seq2[Order, error] {
	return all[Order](ctx, c, "/store/orders", byCursor, q.values())
}

// PlaceOrder orders an available animal, which becomes pending. If several clients try at once, one gets it
// and the others fail with [CodePetNotAvailable]. It fails with [CodePetNotFound] if the animal does not
// exist.
func (c *Client) PlaceOrder(ctx context.Context, n NewOrder, options ...PostOption) (order Order, err error) {
	_, err = c.post(ctx, "/store/orders", n, options, &order)
	return order, err
}

// GetOrder returns one order, or fails with [CodeNotFound].
func (c *Client) GetOrder(ctx context.Context, id int64) (order Order, err error) {
	_, err = c.get(ctx, pathOf("/store/orders", id), nil, &order)
	return order, err
}

// ApproveOrder approves a placed order; its hold no longer expires. It fails with [CodeNotFound], and with
// [CodeInvalidTransition] if the order's status does not allow it.
func (c *Client) ApproveOrder(ctx context.Context, id int64) (Order, error) {
	return c.setOrderStatus(ctx, id, OrderApproved)
}

// DeliverOrder completes an approved order: its animal is sold. It fails as ApproveOrder does.
func (c *Client) DeliverOrder(ctx context.Context, id int64) (Order, error) {
	return c.setOrderStatus(ctx, id, OrderDelivered)
}

// CancelOrder cancels a placed or approved order: its animal is available again. It fails as ApproveOrder does.
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

// Inventory returns the number of animals by status. It is fast however many there are.
func (c *Client) Inventory(ctx context.Context) (inventory Inventory, err error) {
	_, err = c.get(ctx, "/store/inventory", nil, &inventory)
	return inventory, err
}
