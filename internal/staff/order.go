package staff

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// orderBook is what the page of the orders shows.
type orderBook struct {
	Status  string
	Problem string
	Page    shop.OrderPage
	More    string // the address of the next page; empty: none
	Later   bool   // it is not the first page
}

func (p *Pages) orders(v *visit) error {
	query := v.r.URL.Query()
	book := orderBook{Status: query.Get("status")}
	list := shop.OrderList{PageRequest: shop.PageRequest{Limit: pageLength}}
	if book.Status != "" {
		if reason := shop.OrderStatusProblem(book.Status); reason != "" {
			book.Problem = "The status " + reason + "."
		} else {
			list.Status = shop.OrderStatus(book.Status)
		}
	}
	if from, err := strconv.ParseInt(query.Get("from"), 10, 64); err == nil {
		list.After, book.Later = &from, true
	}
	var err error
	if book.Page, err = p.Service.ListOrderViews(v.r.Context(), list); err != nil {
		return err
	}
	if items := book.Page.Items; book.Page.More {
		next := url.Values{"from": {strconv.FormatInt(items[len(items)-1].ID, 10)}}
		if list.Status != "" {
			next.Set("status", book.Status)
		}
		book.More = "/staff/orders?" + next.Encode()
	}
	if v.partial() && book.Later {
		return v.showPart("order-rows", book)
	}
	return v.show(http.StatusOK, "orders", "Orders", book)
}

// orderOf is one order with its animal, and the time.
func (v *visit) orderOf(id int64) (shop.OrderPage, error) {
	next := id + 1 // what follows it in a list is it
	page, err := v.Service.ListOrderViews(v.r.Context(), shop.OrderList{PageRequest: shop.PageRequest{Limit: 1, After: &next}})
	if err == nil && (len(page.Items) == 0 || page.Items[0].ID != id) {
		err = shop.Errorf(shop.NotFound, "There is no order with the number %d.", id)
	}
	return page, err
}

func (p *Pages) orderRow(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	return v.showOrder(id)
}

func (v *visit) showOrder(id int64) error {
	page, err := v.orderOf(id)
	if err != nil {
		return err
	}
	return v.showPart("order-row", map[string]any{"Order": page.Items[0], "Now": page.Now})
}

// placeOrder reserves an animal for somebody.
func (p *Pages) placeOrder(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	order, err := p.Service.PlaceOrder(v.context(), shop.NewOrder{PetID: id, Reference: strings.TrimSpace(v.field("reference"))})
	if err != nil {
		if problem := problemOf(err); v.partial() && problem != "" {
			v.tell("problem", "%s", problem)
			return v.showAnimal(id)
		}
		return err
	}
	v.tell("notice", "It is reserved, as order %d.", order.ID)
	return v.afterPet(id)
}

// moveOrder takes an order one step further, unless it has taken another one already than the page showed.
func (p *Pages) moveOrder(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	was, to := shop.OrderStatus(v.field("was")), shop.OrderStatus(v.field("to"))
	order, err := p.Service.UpdateOrder(v.context(), id, to, func(now shop.Order) bool { return now.Status == was })
	e := shop.AsError(err)
	if err != nil && e.Code == shop.PreconditionFailed {
		e = shop.Errorf(e.Code, "This order has moved on meanwhile, and nothing was changed. Look at it again and decide anew.")
	}
	switch {
	case err == nil:
		v.tell("notice", "Order %d is %s now.", order.ID, order.Status)
	case !v.partial() || problemOf(e) == "" || e.Code == shop.NotFound:
		return e
	default:
		v.tell("problem", "%s", plain(e.Message))
		if order, err = p.Service.Order(v.r.Context(), id); err != nil {
			return err
		}
	}
	if v.partial() && v.r.Header.Get("HX-Target") != "animal" {
		return v.showOrder(id)
	}
	if v.field("back") == "orders" {
		return v.goTo("/staff/orders")
	}
	return v.afterPet(order.PetID)
}
