package httpapi

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

func (a *API) listOrders(x *exchange) error {
	list, err := parseOrderList(x.r.URL.RawQuery)
	if err != nil {
		return err
	}
	page, err := a.Service.ListOrders(x.context(), list)
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
	if list.Query != "" {
		query.Set("q", list.Query)
	}
	setPageLinks(a, x, "/store/orders", query, list.PageRequest, page, func(o shop.Order) int64 { return o.ID })
	sendPage(x, page)
	return nil
}

func parseOrderList(rawQuery string) (shop.OrderList, error) {
	q := parseQuery(rawQuery)
	list := shop.OrderList{
		Status:      shop.OrderStatus(q.checkedText("status", shop.OrderStatusProblem)),
		PetID:       q.id("petId"),
		Query:       q.checkedText("q", shop.TextProblem),
		PageRequest: q.pageRequest(),
	}
	return list, q.err
}

func (a *API) placeOrder(x *exchange) error {
	n, err := decodeNewOrder(x.body)
	if err != nil {
		return err
	}
	return runIdempotent(x, func(ctx context.Context) (shop.Order, error) { return a.Service.PlaceOrder(ctx, n) },
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

func (a *API) getOrder(x *exchange) error {
	id, err := x.pathID("order")
	if err != nil {
		return err
	}
	order, err := a.Service.Order(x.r.Context(), id)
	if err != nil {
		return err
	}
	body := encode(order)
	x.sendResource(web.EntityTag(body), body)
	return nil
}

func (a *API) updateOrder(x *exchange) error {
	status, err := decodeOrderStatus(x.body)
	if err != nil {
		return err
	}
	id, err := x.pathID("order")
	if err != nil {
		return err
	}
	order, err := a.Service.UpdateOrder(x.context(), id, status, preconditions[shop.Order](x))
	if err != nil {
		return err
	}
	x.sendJSON(200, encode(order))
	return nil
}

func decodeOrderStatus(body []byte) (shop.OrderStatus, error) {
	o, err := parseObject(body)
	if err != nil {
		return "", err
	}
	status := o.checkedText("status", shop.OrderStatusProblem)
	return shop.OrderStatus(status), o.problems.Err()
}

func (a *API) getInventory(x *exchange) error {
	inventory, err := a.Service.Inventory(x.r.Context())
	if err != nil {
		return err
	}
	body := encode(inventory)
	x.sendResource(web.EntityTag(body), body)
	return nil
}
