package mcp

import (
	"context"
	"fmt"
	"time"

	"animalstore/client"
)

func (set *toolSet) addOrderTools() {
	add(set, "find_orders", "Find orders", client.ScopeOrdersRead, reads,
		"Lists orders, newest first. All filters combine with \"and\". If nextCursor is in the answer, call again with it as cursor and the "+
			"same filters for the next page; with text, a page can be short or empty although more follow.",
		findOrders)
	add(set, "get_order", "Show an order", client.ScopeOrdersRead, reads,
		"Shows one order with its version, which change_order needs. If the key may read it, also its history: who changed what and when, "+
			"newest first.",
		getOrder)
	add(set, "place_order", "Place an order", client.ScopeOrdersWrite, adds,
		"Orders an available animal for a customer. The animal becomes pending, and the order holds it until holdExpiresAt, or, once it is "+
			"approved, until it is delivered or cancelled. With pet_not_available, somebody else was faster or the animal is not for sale.",
		placeOrder)
	add(set, "change_order", "Change an order", client.ScopeOrdersWrite, changes,
		"Approves, hands over or cancels an order, or changes its reference, day of pick-up, price or the end of its hold; what is not given stays. "+
			"approved: the hold no longer ends by itself. delivered: the customer has the animal, which is sold; the order must be approved first. "+
			"cancelled: the animal is available again. Delivered and cancelled orders cannot be changed any more; undo_order takes a mistake back. Needs the version that get_order showed: "+
			"the change is made only if nobody has changed the order since, and a repeated call changes nothing. After precondition_failed, call "+
			"get_order: either the change is already there, or somebody else was faster.",
		changeOrder)
	add(set, "undo_order", "Undo the last step of an order", client.ScopeOrdersWrite, changes,
		"Takes the last change of an order's status back: delivered becomes approved, approved becomes placed, and cancelled becomes what it was "+
			"before; the animal gets its earlier status, too. Only within 24 hours, only if the status of the animal has not been changed since, and "+
			"not for an order that has expired or whose last change was an undo. Needs the version that get_order showed, like change_order.",
		undoOrder)
}

type findOrdersInput struct {
	Status   client.OrderStatus `json:"status,omitempty" jsonschema:"only orders with this status; placed and approved orders hold their animal"`
	AnimalID petFilter          `json:"animalId,omitempty" jsonschema:"only orders for this animal"`
	Pickup   string             `json:"pickupDate,omitempty" jsonschema:"only orders to be picked up on this day, such as 2026-12-05"`
	Text     string             `json:"text,omitempty" jsonschema:"words that the reference must contain"`
	Limit    limit              `json:"limit,omitempty" jsonschema:"how many orders at most; 20 unless given"`
	Cursor   string             `json:"cursor,omitempty" jsonschema:"the nextCursor of the previous page"`
}

type orderList struct {
	Orders     []client.Order `json:"orders"`
	NextCursor string         `json:"nextCursor,omitempty" jsonschema:"where the next page starts; absent on the last page"`
}

func findOrders(ctx context.Context, s session, in findOrdersInput) (orderList, error) {
	orders, next, err := s.ListOrders(ctx, client.OrderQuery{
		Status: in.Status, PetID: int64(in.AnimalID), PickupDate: in.Pickup, Text: in.Text, Limit: in.Limit.orDefault(), Cursor: in.Cursor,
	})
	return orderList{nonNil(orders), next}, err
}

func (l orderList) text() string {
	return listText("order", "orders", l.Orders, orderText) + moreText(l.NextCursor)
}

func orderText(o client.Order) string {
	text := fmt.Sprintf("order %d for animal %d: %s since %s", o.ID, o.PetID, o.Status, timeText(o.UpdatedAt))
	if !o.HoldExpiresAt.IsZero() {
		text += ", held until " + timeText(o.HoldExpiresAt)
	}
	if o.PickupDate != "" {
		text += ", to be picked up on " + o.PickupDate
	}
	if o.Price != nil {
		text += ", " + o.Price.Amount + " " + o.Price.Currency
	}
	if o.Reference != "" {
		text += fmt.Sprintf(", reference %q", o.Reference)
	}
	return text
}

type getOrderInput struct {
	ID int64 `json:"id" jsonschema:"the id of the order"`
}

type orderDetails struct {
	Order   client.Order `json:"order"`
	Version version      `json:"version"`
	History []activity   `json:"history,omitempty" jsonschema:"the latest changes of the order, newest first, at most 20"`
}

func getOrder(ctx context.Context, s session, in getOrderInput) (details orderDetails, err error) {
	if details.Order, err = s.GetOrder(ctx, in.ID); err != nil {
		return details, err
	}
	details.Version = versionOf(details.Order.ETag)
	if s.allows(client.ScopeEventsRead) {
		details.History, err = history(ctx, s, fmt.Sprintf("store/orders/%d", in.ID))
	}
	return details, err
}

func (d orderDetails) text() string {
	return orderText(d.Order) + d.Version.text() + historyText(d.History)
}

type placeOrderInput struct {
	AnimalID       int64          `json:"animalId" jsonschema:"the id of the animal; its status must be available"`
	Reference      string         `json:"reference,omitempty" jsonschema:"a text of the store, such as the number of a basket, up to 200 characters; it becomes part of the history, so no names of customers"`
	PickupDate     string         `json:"pickupDate,omitempty" jsonschema:"the day of pick-up, such as 2026-12-05"`
	Price          *client.Price  `json:"price,omitempty" jsonschema:"an amount such as 250.00 and the code of its currency such as EUR; the price of the animal's profile unless given"`
	IdempotencyKey idempotencyKey `json:"idempotencyKey" jsonschema:"a new random text, such as a UUID, for each order; the same text again only to repeat a call whose result you did not get"`
}

// changedOrder is the result of a tool that writes an order.
type changedOrder struct {
	Order   client.Order `json:"order"`
	Version version      `json:"version"`
}

func placeOrder(ctx context.Context, s session, in placeOrderInput) (changedOrder, error) {
	order, err := s.PlaceOrder(ctx, client.NewOrder{PetID: in.AnimalID, Reference: in.Reference, PickupDate: in.PickupDate, Price: in.Price}, client.IdempotencyKey(string(in.IdempotencyKey)))
	return changedOrder{order, versionOf(order.ETag)}, err
}

func (c changedOrder) text() string { return orderText(c.Order) + c.Version.text() }

type changeOrderInput struct {
	ID            int64         `json:"id" jsonschema:"the id of the order"`
	Version       version       `json:"version" jsonschema:"the version that get_order, place_order or change_order returned for this order"`
	Status        orderStep     `json:"status,omitempty" jsonschema:"the next status of the order"`
	Reference     *string       `json:"reference,omitempty" jsonschema:"the new reference of an order that is placed or approved; empty removes it"`
	PickupDate    *string       `json:"pickupDate,omitempty" jsonschema:"the new day of pick-up of an order that is placed or approved, such as 2026-12-05; empty removes it"`
	Price         *client.Price `json:"price,omitempty" jsonschema:"the new price of an order that is placed or approved: an amount such as 250.00 and the code of its currency such as EUR"`
	HoldExpiresAt *time.Time    `json:"holdExpiresAt,omitempty" jsonschema:"the new end of the hold of a placed order, such as 2027-01-31T18:00:00Z, at most a year ahead; not together with status"`
}

func changeOrder(ctx context.Context, s session, in changeOrderInput) (changedOrder, error) {
	update := client.OrderUpdate{Reference: in.Reference, PickupDate: in.PickupDate, Price: in.Price, HoldExpiresAt: in.HoldExpiresAt}
	if in.Status != "" {
		update.Status = new(client.OrderStatus(in.Status))
	}
	order, err := s.UpdateOrder(ctx, in.ID, update, in.Version.condition())
	return changedOrder{order, versionOf(order.ETag)}, err
}

type undoOrderInput struct {
	ID      int64   `json:"id" jsonschema:"the id of the order"`
	Version version `json:"version" jsonschema:"the version that get_order, place_order or change_order returned for this order"`
}

func undoOrder(ctx context.Context, s session, in undoOrderInput) (changedOrder, error) {
	order, err := s.UndoOrder(ctx, in.ID, in.Version.condition())
	return changedOrder{order, versionOf(order.ETag)}, err
}
