package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// The documentation says how many clicks and key presses the tasks with orders need, and this test counts them. Each task
// begins on the Today page and takes the shortest route that the pages offer. Add a task here and to the table.
func TestTasksWithOrdersNeedFewClicksAndKeys(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	waldo := s.AddPet(t, "Waldo", 1, shop.Available)
	today := s.Today()
	saturday := today.Add(1)
	for saturday.UTC().Weekday() != time.Saturday {
		saturday = saturday.Add(1)
	}
	bella := shoptest.Must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{
		PetID: s.AddPet(t, "Bella", 1, shop.Available).ID, Customer: shop.Customer{Name: "Mr Brown"}, PickupDate: today.String(),
	}))(t)
	shoptest.Must(s.UpdateOrder(t.Context(), shop.Caller{}, bella.ID, shop.OrderChange{Status: new(shop.Approved)}, nil))(t)
	anna := s.clerk(desktop)
	anna.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument("window.print = () => { window.printed = 1 }").Do(ctx)
		return err
	}))
	order := func(petID int64) shop.Order {
		t.Helper()
		orders := shoptest.Must(s.ListOrders(t.Context(), shop.Caller{}, shop.OrderList{PetID: &petID, PageRequest: shop.PageRequest{Limit: 1}}))(t)
		if len(orders.Items) == 0 {
			t.Fatalf("animal %d has no order", petID)
		}
		return orders.Items[0]
	}
	var counted strings.Builder
	for _, task := range []struct {
		name string
		do   func(w worker)
	}{
		{"Reserve Waldo for a caller, Mrs Novak, with a phone number and pick-up on Saturday", func(w worker) {
			w.find("waldo", "#pet-detail")
			w.click("#reserve-name")
			w.enter("Mrs Novak" + kb.Tab + "555 0101" + kb.Tab + kb.Tab + saturday.UTC().Format("01022006") + kb.Enter)
			w.waitText("#pet-detail .orders", "Mrs Novak")
			if got := order(waldo.ID); got.Customer != (shop.Customer{Name: "Mrs Novak", Phone: "555 0101"}) || got.PickupDate != saturday.String() {
				t.Errorf("the order is %+v, and not for %s", got, saturday)
			}
			w.accessible("an animal with an order for a customer")
		}},
		{"Print Saturday’s hand-overs", func(w worker) {
			w.click(".page-head .menu > summary")
			w.click(fmt.Sprintf(`.page-head .items a[href*="day=%s"]`, saturday))
			w.waitFor("window.printed === 1")
			w.waitText("main", "Mrs Novak")
			w.accessible("the hand-overs of a day")
		}},
		{"Hand over", func(w worker) {
			w.click(fmt.Sprintf(`[aria-labelledby="hand-over-today"] #work-%d [value="delivered"]`, bella.ID))
			w.waitText("#flashes", "handed over")
		}},
		{"Take the hand-over to Mr Brown back, an hour later", func(w worker) {
			w.find("brown", "#order-detail")
			w.click("#undo")
			w.waitText("#order-detail .badge", "Approved")
		}},
		{"Erase a customer, Novak", func(w worker) {
			w.find("novak", "#order-detail")
			w.accessible("an order with a customer")
			w.click("#erase")
			w.click("#question dialog[open] #confirm")
			w.waitText("#flashes", "was erased")
			w.waitFor(`!document.querySelector("#erase") && !document.querySelector("#order-detail").textContent.includes("Novak")`)
			if got := order(waldo.ID); got.HasCustomer() {
				t.Errorf("the order is %+v", got)
			}
		}},
	} {
		w := worker{anna, new(effort)}
		w.open("/", "#worklist")
		task.do(w)
		fmt.Fprintf(&counted, "| %s | %d | %d |\n", task.name, w.done.clicks, w.done.keys)
	}
	wantDocumented(t, "| task with orders | clicks | keys |\n|---|---|---|\n", counted.String())
}
