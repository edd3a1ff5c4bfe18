package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/shop"
)

// Users can find an order by its customer. On the order's page, they can change the customer, extend the hold and
// undo a wrong step.
func TestOrderPage(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for _, name := range []string{"Rex", "Bella"} {
		s.reserve(name, "Mrs Novák of "+name)
	}
	p, other := s.clerk(desktop), s.clerk(390)
	p.open("/staff/orders", "#order-2")
	p.fill("#filter-customer", "bella novak")
	p.waitFor(`!document.querySelector("#order-1") && !!document.querySelector("#order-2") && location.search.includes("q=bella")`)
	p.accessible("orders of a customer")
	p.click("#order-2 .id a")
	p.waitText("h1", "Order 2")
	p.accessible("an order")
	other.open("/staff/orders/2", "#order-detail")
	p.fill("#order-reference", "Mr Novák"+kb.Enter)
	p.waitText("#flashes", "Order 2 was saved.")
	p.waitText(".facts", "Mr Novák")
	other.waitText(".facts", "Mr Novák") // the customer changes without a reload
	p.click(".page-head [aria-label^=Extend]")
	p.click("#extend-2-7")
	p.waitText(".time-left", "9 days")
	p.click("#order-2-approved")
	p.waitText(".page-head .badge", "Approved")
	p.click("#order-2-delivered")
	other.waitText(".page-head .badge", "Handed over")
	other.accessible("an order that was handed over")
	other.click("#undo")
	other.waitText("#flashes", "Order 2 is approved again.")
	p.waitText(".page-head .badge", "Approved")
	p.waitFor(`!document.querySelector("#undo")`)
	if order, err := s.Order(t.Context(), 2); err != nil || order.Reference != "Mr Novák" || order.Status != shop.Approved {
		t.Errorf("got the order %+v, %v", order, err)
	}
}
