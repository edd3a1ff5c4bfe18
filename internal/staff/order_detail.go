package staff

import (
	"net/http"
	"strconv"
	"time"

	"animalstore/internal/shop"
)

// orderDetail is the template data for the page about one order.
type orderDetail struct {
	shop.OrderView
	Now     time.Time
	History []activityEntry
}

// Form returns the form that changes the order.
func (o orderDetail) Form() orderForm { return newOrderForm(o.Order) }

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
	page := orderDetail{OrderView: orders.Items[0], Now: orders.Now}
	if x.May(shop.EventsRead) {
		page.History, _, _, err = x.readActivity(x.r.Context(), shop.ActivityFilter{OrderID: &id}, shop.PageRequest{Limit: historyPageSize})
		if err != nil {
			return err
		}
	}
	return x.show(http.StatusOK, "order-detail", "Order "+strconv.FormatInt(id, 10), page)
}
