package workload

import (
	"context"
	"fmt"
	"sync"
	"time"

	"animalstore/client"
)

// placeOrder orders an animal for which other clients compete.
func (c *randomClient) placeOrder(ctx context.Context) {
	id, ok := c.l.anyForSale(c.rng)
	if !ok {
		return
	}
	reference := c.uniqueName("order")
	var order client.Order
	if c.do(ctx, &operation{eventKey: "place " + reference}, "store/orders", func(ctx context.Context) (_ int64, err error) {
		order, err = c.api.PlaceOrder(ctx, client.NewOrder{PetID: id, Reference: reference}, client.IdempotencyKey(reference))
		return order.ID, err
	}, client.CodePetNotAvailable, client.CodePetNotFound) {
		c.orders = append(c.orders, order)
	}
}

// advanceOrder approves, delivers or cancels one of the client's orders. The order's hold may already have
// expired.
func (c *randomClient) advanceOrder(ctx context.Context) {
	order, ok := take(c.rng, &c.orders)
	if !ok {
		return
	}
	to := client.OrderCancelled
	if c.rng.IntN(4) > 0 {
		to = nextStatus[order.Status]
	}
	if after, ok := c.setStatus(ctx, order, to); ok && after.Status == client.OrderApproved {
		c.orders = append(c.orders, after)
	}
}

// nextStatus maps the status of an open order to the next status on the way to a sale.
var nextStatus = map[client.OrderStatus]client.OrderStatus{client.OrderPlaced: client.OrderApproved, client.OrderApproved: client.OrderDelivered}

// setStatus changes the status of an order and reports whether the service acknowledged the change.
func (c *randomClient) setStatus(ctx context.Context, order client.Order, to client.OrderStatus) (after client.Order, ok bool) {
	op := &operation{eventKey: fmt.Sprintf("order.%s store/orders/%d", to, order.ID)}
	ok = c.do(ctx, op, "store/orders", func(ctx context.Context) (_ int64, err error) {
		after, err = c.api.UpdateOrder(ctx, order.ID, client.OrderUpdate{Status: &to})
		return order.ID, err
	}, client.CodeInvalidTransition)
	return after, ok
}

// raceOrder advances and cancels one of the client's orders at the same time, perhaps on different nodes.
func (c *randomClient) raceOrder(ctx context.Context) {
	order, ok := take(c.rng, &c.orders)
	if !ok {
		return
	}
	var racing sync.WaitGroup
	for _, to := range []client.OrderStatus{nextStatus[order.Status], client.OrderCancelled} {
		racing.Go(func() { c.setStatus(ctx, order, to) })
	}
	racing.Wait()
}

// changeOrder changes the reference of one of the client's orders and extends its hold if it still has one.
func (c *randomClient) changeOrder(ctx context.Context) {
	if len(c.orders) == 0 {
		return
	}
	order := &c.orders[c.rng.IntN(len(c.orders))]
	update := client.OrderUpdate{Reference: new(c.uniqueName("reference"))}
	if order.Status == client.OrderPlaced {
		update.HoldExpiresAt = new(order.HoldExpiresAt.Add(time.Second))
	}
	op := &operation{eventKey: fmt.Sprint(client.EventOrderUpdated, " ", *update.Reference)}
	c.do(ctx, op, "store/orders", func(ctx context.Context) (int64, error) {
		after, err := c.api.UpdateOrder(ctx, order.ID, update)
		if err == nil {
			*order = after
		}
		return order.ID, err
	}, client.CodeInvalidTransition, client.CodeValidationFailed)
}
