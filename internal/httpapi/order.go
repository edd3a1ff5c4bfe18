package httpapi

import (
	"fmt"
	"net/url"
	"strconv"

	"animalstore/internal/shop"
)

func (a *API) listOrders(x *exchange) error {
	list, err := parseOrderList(x.r.URL.RawQuery)
	if err != nil {
		return err
	}
	list.Customers = x.seesCustomers()
	page, err := a.Service.ListOrders(x.r.Context(), x.caller(), list)
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
	if list.PickupDate != "" {
		query.Set("pickupDate", list.PickupDate)
	}
	if list.Query != "" {
		query.Set("q", list.Query)
	}
	setPageLinks(a, x, "/store/orders", query, list.PageRequest, page, func(o shop.Order) int64 { return o.ID })
	views := make([]any, len(page.Items))
	for i, order := range page.Items {
		views[i] = x.orderView(order)
	}
	sendPage(x, shop.Page[any]{Items: views, More: page.More, Stopped: page.Stopped})
	return nil
}

func parseOrderList(rawQuery string) (shop.OrderList, error) {
	q := parseQuery(rawQuery)
	list := shop.OrderList{
		Status:      shop.OrderStatus(q.checkedText("status", shop.OrderStatusProblem)),
		PetID:       q.id("petId"),
		PickupDate:  q.checkedText("pickupDate", shop.DateProblem),
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
	location := func(order shop.Order) string { return fmt.Sprintf("%s/store/orders/%d", a.basePath, order.ID) }
	respond := func(order shop.Order) shop.StoredResponse { return x.storedOrder(201, location(order), order) }
	order, err := a.Service.PlaceOrder(x.r.Context(), callerStoring(x, respond), n)
	if err != nil {
		return err
	}
	x.sendOrder(201, location(order), order)
	return nil
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
	if o.has("pickupDate") {
		n.PickupDate = o.checkedText("pickupDate", shop.DateProblem)
	}
	n.Price = o.price("price")
	n.Customer = o.customer("customer")
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
	body := encode(x.orderView(order))
	x.sendResource(shop.EntityTag(body), body)
	return nil
}

func (a *API) updateOrder(x *exchange) error {
	change, err := decodeOrderChange(x.body)
	if err != nil {
		return err
	}
	id, err := x.pathID("order")
	if err != nil {
		return err
	}
	order, err := a.Service.UpdateOrder(x.r.Context(), x.caller(), id, change, orderPreconditions(x))
	if err != nil {
		return err
	}
	body := encode(x.orderView(order))
	x.w.Header().Set("ETag", shop.EntityTag(body))
	x.sendJSON(200, body)
	return nil
}

func (a *API) undoOrder(x *exchange) error {
	id, err := x.pathID("order")
	if err != nil {
		return err
	}
	respond := func(order shop.Order) shop.StoredResponse { return x.storedOrder(200, "", order) }
	order, err := a.Service.UndoOrder(x.r.Context(), callerStoring(x, respond), id, orderPreconditions(x))
	if err != nil {
		return err
	}
	x.sendOrder(200, "", order)
	return nil
}

// decodeOrderChange decodes a merge patch. The status and the end of the hold cannot be removed, so null is invalid for
// them.
func decodeOrderChange(body []byte) (change shop.OrderChange, err error) {
	o, err := parseObject(body)
	if err != nil {
		return change, err
	}
	if o.has("status") {
		change.Status = new(shop.OrderStatus(o.checkedText("status", shop.OrderStatusProblem)))
	}
	if o.isNull("reference") {
		change.Reference = new("")
	} else if o.has("reference") {
		change.Reference = new(o.text("reference"))
	}
	change.PickupDate = removableText[string](o, "pickupDate", shop.DateProblem)
	change.Price = o.price("price")
	change.Customer = o.customerChange("customer")
	if o.has("holdExpiresAt") {
		change.HoldExpiresAt = new(o.time("holdExpiresAt"))
	}
	o.problems.Merge(change.Problems())
	return change, o.problems.Err()
}
