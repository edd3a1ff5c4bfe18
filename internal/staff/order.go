package staff

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// orderPath returns the path of an order's page.
func orderPath(id int64) string { return "/staff/orders/" + strconv.FormatInt(id, 10) }

// orderStatusName returns the word that the pages use for an order's status, such as "reserved" for placed and
// "handed over" for delivered.
func orderStatusName(status shop.OrderStatus) string {
	switch status {
	case shop.Placed:
		return "reserved"
	case shop.Delivered:
		return "handed over"
	}
	return string(status)
}

// orderStatusNames returns the words for all statuses of an order.
func orderStatusNames() string {
	var names []string
	for _, status := range shop.OrderStatuses() {
		names = append(names, orderStatusName(status))
	}
	return strings.Join(names, ", ")
}

// oldestFirst is the value of the sort parameter that shows the oldest orders first.
const oldestFirst = "oldest"

// orderQuery holds the filters of the list of orders as they appear in the URL of the page.
type orderQuery struct {
	Status  string
	Query   string // words of the note or, for those who may see it, the customer
	Pickup  string // the day of pick-up, YYYY-MM-DD
	Sort    string // oldestFirst, or "" for the newest first
	Problem string
}

// parseOrderQuery reads the filters from a query string. It ignores an invalid filter and describes the mistake in
// Problem.
func parseOrderQuery(values url.Values) (q orderQuery, list shop.OrderList) {
	q = orderQuery{Status: values.Get("status"), Query: strings.TrimSpace(values.Get("q"))}
	if values.Get("sort") == oldestFirst {
		q.Sort = oldestFirst
	}
	list.OldestFirst = q.Sort == oldestFirst
	if q.Status != "" {
		if shop.OrderStatusProblem(q.Status) != "" {
			q.Problem = "The status must be one of " + orderStatusNames() + "."
		} else {
			list.Status = shop.OrderStatus(q.Status)
		}
	}
	if q.Pickup = values.Get("pickup"); q.Pickup != "" {
		if reason := shop.DateProblem(q.Pickup); reason != "" {
			q.Problem = "The day of pick-up " + reason + "."
		} else {
			list.PickupDate = q.Pickup
		}
	}
	if q.Query != "" {
		if reason := shop.TextProblem(q.Query); reason != "" {
			q.Problem = "The text " + reason + "."
		} else {
			list.Query = q.Query
		}
	}
	return q, list
}

// Path returns the path of the first page with these filters.
func (q orderQuery) Path() string { return "/staff/orders" + q.encode(url.Values{}) }

// Next returns the path of the page that begins after the given order.
func (q orderQuery) Next(from int64) string {
	return "/staff/orders" + q.encode(url.Values{"from": {strconv.FormatInt(from, 10)}})
}

// Printed returns the path of the page for printing all orders with these filters.
func (q orderQuery) Printed() string { return "/staff/orders/print" + q.encode(url.Values{}) }

func (q orderQuery) encode(values url.Values) string {
	for name, value := range map[string]string{"status": q.Status, "q": q.Query, "pickup": q.Pickup, "sort": q.Sort} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// ordersPage is the template data for the list of orders.
type ordersPage struct {
	Query    orderQuery
	Page     shop.OrderPage
	NextURL  string // the path of the next page, or "" if this is the last page
	NotFirst bool   // whether this is not the first page
}

func (p *Pages) orders(x *exchange) error {
	query, list := parseOrderQuery(x.r.URL.Query())
	list.PageRequest, list.Customers = x.pageRequest(), x.May(shop.Customers)
	page := ordersPage{Query: query, NotFirst: list.After != nil}
	var err error
	if page.Page, err = p.Service.ListOrderViews(x.r.Context(), x.caller(), list); err != nil {
		return err
	}
	if page.Page.More {
		page.NextURL = query.Next(page.Page.Next(func(v shop.OrderView) int64 { return v.ID }))
	}
	if x.partial() && page.NotFirst {
		return x.showFragment("order-rows", page)
	}
	return x.show(http.StatusOK, "orders", "Orders", page)
}

// loadOrder returns a list page that contains only the given order, with its animal.
func (x *exchange) loadOrder(id int64) (shop.OrderPage, error) {
	next := id + 1 // the list is in descending order, so the first order after id+1 is this one
	page, err := x.Service.ListOrderViews(x.r.Context(), x.caller(), shop.OrderList{PageRequest: shop.PageRequest{Limit: 1, After: &next}})
	if err == nil && (len(page.Items) == 0 || page.Items[0].ID != id) {
		err = shop.Errorf(shop.NotFound, "There is no order %d.", id)
	}
	return page, err
}

func (p *Pages) orderRow(x *exchange, id int64) error {
	return x.showOrderRow(id)
}

func (x *exchange) showOrderRow(id int64) error {
	page, err := x.loadOrder(id)
	if err != nil {
		return err
	}
	return x.showFragment("order-row", map[string]any{"Order": page.Items[0], "Now": page.Now})
}

// setOrderStatus changes the status of an order, unless the status has changed since the page was shown.
func (p *Pages) setOrderStatus(x *exchange, id int64) error {
	was, to := shop.OrderStatus(x.field("was")), shop.OrderStatus(x.field("to"))
	order, err := x.updateOrder(id, shop.OrderChange{Status: new(to)}, func(now shop.Order) bool { return now.Status == was })
	if err == nil {
		x.flashAbout(orderTopic(id), undoOfOrderStep(order), "Order %d is now %s.", order.ID, orderStatusName(order.Status))
	}
	return x.showChangedOrder(id, order, err)
}

// updateOrder changes an order once, if match holds for it.
func (x *exchange) updateOrder(id int64, change shop.OrderChange, match shop.Precondition[shop.Order]) (shop.Order, error) {
	return once(x, func(by shop.Caller) (shop.Order, error) {
		return x.Service.UpdateOrder(x.r.Context(), by, id, change, match)
	})
}

// showChangedOrder shows an order after a change, or after an attempt that failed with err. It updates the page from
// which the form was sent, or shows the animal's page if the form does not name a page.
func (x *exchange) showChangedOrder(id int64, order shop.Order, err error) error {
	err = explainConflict(err, "Someone else has changed this order in the meantime, so nothing was saved. Check it and try again.")
	inRow := x.partial() && x.r.Header.Get("HX-Target") == orderTopic(id)
	// The page from which the form was sent stays open and reloads the parts that have changed.
	if back := x.field("back"); isStaffPath(back) && !inRow {
		return x.finishInPlace(err, back, orderTopic(id), petTopic(order.PetID))
	}
	if err != nil {
		if !x.partial() || isNotFound(err) {
			return err
		}
		if err := x.flashError(err); err != nil {
			return err
		}
		if order, err = x.Service.Order(x.r.Context(), id); err != nil {
			return err
		}
	}
	if x.field("back") == "today" {
		return x.showWorkList()
	}
	if inRow {
		return x.showOrderRow(id)
	}
	return x.showChangedPet(order.PetID, nil)
}
