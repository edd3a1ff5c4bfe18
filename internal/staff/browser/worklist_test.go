package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
)

// reserve adds an animal and reserves it.
func (s *testShop) reserve(name, customer string) shop.Order {
	s.t.Helper()
	pet := s.AddPet(s.t, name, 1, shop.Available)
	order, err := s.PlaceOrder(s.t.Context(), shop.Caller{}, shop.NewOrder{PetID: pet.ID, Reference: customer})
	if err != nil {
		s.t.Fatal(err)
	}
	return order
}

// endHoldToday makes a hold end in five minutes, or at the end of the day if that is earlier.
func (s *testShop) endHoldToday(id int64) {
	s.t.Helper()
	_, midnight := s.DayBounds(s.Today())
	ends := time.Now().Add(5 * time.Minute)
	if !ends.Before(midnight) {
		ends = midnight.Add(-time.Millisecond)
	}
	if _, err := s.UpdateOrder(s.t.Context(), shop.Caller{}, id, shop.OrderChange{HoldExpiresAt: &ends}, nil); err != nil {
		s.t.Fatal(err)
	}
}

// The buttons on the Today page move an order from one list to the next, on a computer and on a phone. A colleague's
// page shows each step.
func TestWorkIsDoneFromToday(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	colleague := s.clerk(desktop)
	colleague.open("/")
	colleague.waitText("#first-day", "No animals yet.")
	for _, width := range []int{desktop, phone} {
		p := s.clerk(width)
		p.open("/")
		p.accessible("an empty work list")
		order := s.reserve("Rex", "Mrs Novák")
		row := fmt.Sprint("#work-", order.ID)
		p.waitText(row, "Mrs Novák") // the order appears without a reload
		s.endHoldToday(order.ID)
		p.waitText("[aria-labelledby=ending-today] "+row, "Extend")
		p.prefer("dark")
		p.open("/", row)
		p.accessible("the work list in dark mode")
		for _, width := range []int{1100, desktop, 1440} {
			p.resize(width)
			if wide := browsertest.Eval[int](p.Page, `Math.max(...[...document.querySelectorAll(".work-orders")].map(e => e.scrollWidth - e.parentElement.clientWidth))`); wide > 0 {
				t.Errorf("at %d pixels, the work list is %d pixels wider than its card", width, wide)
			}
		}
		p.resize(p.width)
		p.click(row + " form[action$=hold] summary")
		p.accessible("the menu to extend a hold")
		p.click(row + ` [name="days"][value="3"]`)
		p.waitText("#flashes", "now ends on")
		p.waitText("[aria-labelledby=to-approve] "+row, "Approve")
		p.click(row + ` [value="approved"]`)
		p.waitText("[aria-labelledby=to-hand-over] "+row, "Hand over")
		colleague.waitText("[aria-labelledby=to-hand-over] "+row, "Rex")
		p.click(row + ` [value="delivered"]`)
		p.waitFor(`!document.querySelector(%q)`, row)
		p.waitText("[aria-labelledby=since-yesterday] .activity", "handed over Rex to Mrs Novák")
		colleague.waitFor(`!document.querySelector(%q)`, row)
	}
}

func TestWorkIsDoneFromTodayWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.endHoldToday(s.reserve("Rex", "Mrs Novák").ID)
	p := s.clerkWithoutScripts(desktop)
	p.open("/")
	p.click("#work-1 form[action$=hold] summary")
	p.click(`#work-1 [name="days"][value="1"]`)
	p.waitVisible("[aria-labelledby=to-approve] #work-1")
	p.click(`#work-1 [value="approved"]`)
	p.waitVisible("[aria-labelledby=to-hand-over] #work-1")
	p.click(`#work-1 [value="delivered"]`)
	p.waitVisible("[aria-labelledby=to-hand-over] .nothing")
	p.open("/staff/activity?kind=orders")
	p.waitVisible(".activity li")
	p.Run(chromedp.SetValue(`[name="kind"]`, "order.approved", chromedp.ByQuery))
	p.click("noscript button")
	p.waitVisible(".activity li:first-child:last-child")
}

// The filters of the activity page are in its URL, and the list updates by itself.
func TestActivityIsFilteredAndLive(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.reserve("Rex", "Mrs Novák")
	for _, width := range []int{desktop, phone} {
		p := s.clerk(width)
		p.open("/staff/activity", ".activity li")
		p.accessible("the activity")
		browsertest.Eval[bool](p.Page, `(() => { const kind = document.querySelector("[name=kind]"); kind.value = "orders"; return kind.dispatchEvent(new Event("change", {bubbles: true})); })()`)
		p.waitFor(`location.search === "?kind=orders" && document.querySelectorAll(".activity li").length > 0 && !document.querySelector(".activity").textContent.includes("added")`)
		p.waitFor(`document.getElementById("export-activity").href.endsWith("/staff/activity.csv?kind=orders")`)
		customer := fmt.Sprint("Mr Smith ", width)
		order := s.reserve("Max", customer)
		p.waitText(".activity li:first-child", "reserved Max for "+customer) // the change appears without a reload
		p.click(".activity li:first-child p a:last-of-type")
		p.waitFor(`location.pathname === "/staff/orders/%d"`, order.ID)
		p.click(`[aria-labelledby="history"] .card-head a`)
		p.waitFor(`location.search === "?order=%d"`, order.ID)
		p.prefer("dark")
		p.open("/staff/activity?day="+s.Today().String(), ".activity li")
		p.accessible("the activity of a day in dark mode")
		p.open("/staff/activity?animal=999", ".empty")
		p.accessible("an empty activity")
	}
}
