package httpapi

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"animalstore/internal/shop"
)

func (a *API) listOrders(c *call) error {
	list, err := parseOrderList(c.r.URL.RawQuery)
	if err != nil {
		return err
	}
	page, err := a.Service.ListOrders(c.r.Context(), list)
	if err != nil {
		return err
	}
	query := url.Values{}
	if list.Status != "" {
		query.Set("status", string(list.Status))
	}
	if list.PetID != nil {
		query.Set("petId", strconv.FormatInt(*list.PetID, 10))
	}
	linkPage(a, c, "/store/orders", query, list.PageRequest, page, func(o shop.Order) int64 { return o.ID })
	sendPage(c, page)
	return nil
}

func parseOrderList(rawQuery string) (shop.OrderList, error) {
	q := parseQuery(rawQuery)
	list := shop.OrderList{
		Status:      shop.OrderStatus(q.oneOf("status", shop.OrderStatusProblem)),
		PetID:       q.id("petId"),
		PageRequest: q.window(),
	}
	return list, q.err
}

func (a *API) placeOrder(c *call) error {
	n, err := decodeNewOrder(c.body)
	if err != nil {
		return err
	}
	return once(c, func(ctx context.Context) (shop.Order, error) { return a.Service.PlaceOrder(ctx, n) },
		func(order shop.Order) shop.StoredResponse {
			location := fmt.Sprintf("%s/store/orders/%d", a.basePath, order.ID)
			return shop.StoredResponse{Status: 201, Location: location, Body: encode(order)}
		})
}

func decodeNewOrder(body []byte) (n shop.NewOrder, err error) {
	o, err := parseObject(body)
	if err != nil {
		return n, err
	}
	n.PetID = o.integer("petId")
	if o.has("reference") {
		n.Reference = o.text("reference")
	}
	return n, o.problems.Err()
}

func (a *API) getOrder(c *call) error {
	id, err := c.idOf("order")
	if err != nil {
		return err
	}
	order, err := a.Service.Order(c.r.Context(), id)
	if err != nil {
		return err
	}
	body := encode(order)
	c.sendKept(entityTag(body), body)
	return nil
}

func (a *API) updateOrder(c *call) error {
	status, err := decodeOrderStatus(c.body)
	if err != nil {
		return err
	}
	id, err := c.idOf("order")
	if err != nil {
		return err
	}
	order, err := a.Service.UpdateOrder(c.context(), id, status, ifMatch[shop.Order](c))
	if err != nil {
		return err
	}
	c.sendJSON(200, encode(order))
	return nil
}

func decodeOrderStatus(body []byte) (shop.OrderStatus, error) {
	o, err := parseObject(body)
	if err != nil {
		return "", err
	}
	status := o.oneOf("status", shop.OrderStatusProblem)
	return shop.OrderStatus(status), o.problems.Err()
}

func (a *API) getInventory(c *call) error {
	inventory, err := a.Service.Inventory(c.r.Context())
	if err != nil {
		return err
	}
	body := encode(inventory)
	c.sendKept(entityTag(body), body)
	return nil
}
