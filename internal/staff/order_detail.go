package staff

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"animalstore/internal/shop"
)

// orderDetail is the template data for the page about one order.
type orderDetail struct {
	shop.OrderView
	Now           time.Time
	History       []activityEntry
	seesCustomers bool
}

// Form returns the form that changes the order.
func (o orderDetail) Form() orderForm { return newOrderForm(o.Order, o.seesCustomers) }

// CanUndo reports whether the page offers to undo the last step of the order. The service may still refuse.
func (o orderDetail) CanUndo() bool {
	return o.Pet != nil && o.Pet.Status == o.Status.PetStatus() && o.UndoProblem(o.Now) == ""
}

// CanReserveAgain reports whether the page offers a new order for the animal of an order that has expired.
func (o orderDetail) CanReserveAgain() bool {
	return o.Status == shop.Expired && o.Pet != nil && o.Pet.Status == shop.Available
}

func (p *Pages) order(x *exchange, id int64) error {
	orders, err := x.loadOrder(id)
	if err != nil {
		return err
	}
	page := orderDetail{OrderView: orders.Items[0], Now: orders.Now, seesCustomers: x.May(shop.Customers)}
	if x.May(shop.EventsRead) {
		page.History, _, _, err = x.readActivity(x.r.Context(), shop.ActivityFilter{OrderID: &id}, shop.PageRequest{Limit: historyPageSize})
		if err != nil {
			return err
		}
	}
	return x.show(http.StatusOK, "order-detail", "Order "+strconv.FormatInt(id, 10), page)
}

// eraseCustomer erases the customer of an order. This cannot be undone, so the user is asked first.
func (p *Pages) eraseCustomer(x *exchange, id int64) error {
	if !x.confirmed() {
		return x.ask(question{
			Title: x.word("Erase the customer?"), Text: x.word("The name, the phone number and the e-mail address of the customer") +
				fmt.Sprintf(" of order %d are erased at once. This can’t be undone. The note and the history stay.", id),
			Button: x.word("Erase customer"), Danger: true, Back: orderPath(id), Target: "main", Swap: "none",
		})
	}
	err := onceOnly(x, func(by shop.Caller) error { return p.Service.EraseCustomer(x.r.Context(), by, id, nil) })
	if err == nil {
		x.flashAbout(orderTopic(id), nil, "%s", x.word("The customer")+fmt.Sprintf(" of order %d was erased.", id))
	}
	return x.finishInPlace(err, orderPath(id), orderTopic(id))
}
