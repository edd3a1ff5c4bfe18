package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// OrderStatus is how far an order has come.
type OrderStatus string

const (
	OrderPlaced    OrderStatus = "placed"    // holds its animal until HoldExpiresAt
	OrderApproved  OrderStatus = "approved"  // holds its animal until it is delivered or cancelled
	OrderDelivered OrderStatus = "delivered" // the animal is sold
	OrderCancelled OrderStatus = "cancelled" // the animal is free again
	OrderExpired   OrderStatus = "expired"   // the hold ran out, and the animal is free again
)

// Order is a client's hold on one animal, from its placing to its end.
type Order struct {
	ID            int64       `json:"id"`
	PetID         int64       `json:"petId"`
	Status        OrderStatus `json:"status"`
	Reference     string      `json:"reference,omitempty"`
	CreatedAt     time.Time   `json:"createdAt"`
	UpdatedAt     time.Time   `json:"updatedAt"`
	HoldExpiresAt time.Time   `json:"holdExpiresAt,omitzero"` // zero once it is no longer placed
}

// NewOrder is an order that is to be placed.
type NewOrder struct {
	PetID     int64  `json:"petId"`
	Reference string `json:"reference,omitempty"` // a text of your own, up to 200 characters
}

// OrderQuery says which orders are listed; what is zero does not narrow the list.
type OrderQuery struct {
	Status OrderStatus
	PetID  int64
	Limit  int    // the most orders on one page, 1 to 100
	Cursor string // where the page starts: what ListOrders returned with the one before
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

// Inventory counts the animals by status.
type Inventory struct {
	Available   int64 `json:"available"`
	Pending     int64 `json:"pending"`
	Sold        int64 `json:"sold"`
	Unspecified int64 `json:"unspecified"` // those without a status
}

// ListOrders gets one page of the orders, newest first, of 20 where the query has no limit. The cursor next goes into
// the query for the following page; it is empty after the last one. [Client.Orders] does that by itself.
func (c *Client) ListOrders(ctx context.Context, q OrderQuery) (orders []Order, next string, err error) {
	return fetchPage[Order](ctx, c, "/store/orders", byCursor, q.values())
}

// Orders walks all the orders that a query asks for, newest first. It ends with the first error.
func (c *Client) Orders(ctx context.Context, q OrderQuery) iter.Seq2[Order, error] {
	return all[Order](ctx, c, "/store/orders", byCursor, q.values())
}

// PlaceOrder takes an available animal, which is pending from then on. Of any number of clients that try at once, one
// gets it. The others fail with [CodePetNotAvailable]; where there is no such animal it is [CodePetNotFound].
func (c *Client) PlaceOrder(ctx context.Context, n NewOrder, options ...PostOption) (order Order, err error) {
	_, err = c.post(ctx, "/store/orders", n, options, &order)
	return order, err
}

// GetOrder gets one order, or fails with [CodeNotFound].
func (c *Client) GetOrder(ctx context.Context, id int64) (order Order, err error) {
	_, err = c.get(ctx, pathOf("/store/orders", id), nil, &order)
	return order, err
}

// ApproveOrder accepts a placed order; its hold no longer runs out. It fails with [CodeNotFound], and with
// [CodeInvalidTransition] where the order has come too far.
func (c *Client) ApproveOrder(ctx context.Context, id int64) (Order, error) {
	return c.setOrderStatus(ctx, id, OrderApproved)
}

// DeliverOrder ends an approved order: its animal is sold. It fails as ApproveOrder does.
func (c *Client) DeliverOrder(ctx context.Context, id int64) (Order, error) {
	return c.setOrderStatus(ctx, id, OrderDelivered)
}

// CancelOrder ends a placed or approved order: its animal is available again. It fails as ApproveOrder does.
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

// Inventory counts the animals, quickly however many there are.
func (c *Client) Inventory(ctx context.Context) (inventory Inventory, err error) {
	_, err = c.get(ctx, "/store/inventory", nil, &inventory)
	return inventory, err
}
