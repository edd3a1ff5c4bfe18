package staff

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// ordersPage is the data of the list of orders.
type ordersPage struct {
	Status   string
	Problem  string
	Page     shop.OrderPage
	NextURL  string // path of the next page, or ""
	NotFirst bool   // this is not the first page
}

func (p *Pages) orders(v *visit) error {
	page := ordersPage{Status: v.r.URL.Query().Get("status")}
	list := shop.OrderList{PageRequest: v.pageRequest()}
	page.NotFirst = list.After != nil
	if page.Status != "" {
		if reason := shop.OrderStatusProblem(page.Status); reason != "" {
			page.Problem = "The status " + reason + "."
		} else {
			list.Status = shop.OrderStatus(page.Status)
		}
	}
	var err error
	if page.Page, err = p.Service.ListOrderViews(v.r.Context(), list); err != nil {
		return err
	}
	if items := page.Page.Items; page.Page.More {
		next := url.Values{"from": {strconv.FormatInt(items[len(items)-1].ID, 10)}}
		if list.Status != "" {
			next.Set("status", page.Status)
		}
		page.NextURL = "/staff/orders?" + next.Encode()
	}
	if v.partial() && page.NotFirst {
		return v.showPart("order-rows", page)
	}
	return v.show(http.StatusOK, "orders", "Orders", page)
}

// loadOrder returns a page with one order and its animal.
func (v *visit) loadOrder(id int64) (shop.OrderPage, error) {
	next := id + 1 // lists are in descending order and begin after this id
	page, err := v.Service.ListOrderViews(v.r.Context(), shop.OrderList{PageRequest: shop.PageRequest{Limit: 1, After: &next}})
	if err == nil && (len(page.Items) == 0 || page.Items[0].ID != id) {
		err = shop.Errorf(shop.NotFound, "There is no order %d.", id)
	}
	return page, err
}

func (p *Pages) orderRow(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	return v.showOrderRow(id)
}

func (v *visit) showOrderRow(id int64) error {
	page, err := v.loadOrder(id)
	if err != nil {
		return err
	}
	return v.showPart("order-row", map[string]any{"Order": page.Items[0], "Now": page.Now})
}

// placeOrder reserves an animal.
func (p *Pages) placeOrder(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	order, err := p.Service.PlaceOrder(v.context(), shop.NewOrder{PetID: id, Reference: strings.TrimSpace(v.field("reference"))})
	if err != nil {
		if problem := userMessage(err); v.partial() && problem != "" {
			v.tell("problem", "%s", problem)
			return v.showPetDetail(id)
		}
		return err
	}
	v.tell("flash", "Reserved as order %d.", order.ID)
	return v.showChangedPet(id)
}

// setOrderStatus changes the status of an order, unless it has changed since the page was shown.
func (p *Pages) setOrderStatus(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	was, to := shop.OrderStatus(v.field("was")), shop.OrderStatus(v.field("to"))
	order, err := p.Service.UpdateOrder(v.context(), id, to, func(now shop.Order) bool { return now.Status == was })
	if err != nil && shop.AsError(err).Code == shop.PreconditionFailed {
		err = shop.Errorf(shop.PreconditionFailed, "Someone else has changed this order in the meantime, so nothing was saved. Check it and try again.")
	}
	switch {
	case err == nil:
		v.tell("flash", "Order %d is now %s.", order.ID, order.Status)
	case !v.partial() || userMessage(err) == "" || shop.AsError(err).Code == shop.NotFound:
		return err
	default:
		v.tell("problem", "%s", userMessage(err))
		if order, err = p.Service.Order(v.r.Context(), id); err != nil {
			return err
		}
	}
	if v.partial() && v.r.Header.Get("HX-Target") != "pet-detail" {
		return v.showOrderRow(id)
	}
	if v.field("back") == "orders" {
		return v.goTo("/staff/orders")
	}
	return v.showChangedPet(order.PetID)
}
