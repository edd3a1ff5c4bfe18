package browser

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// losingAnswers puts a proxy in front of the shop. While lose is true, the proxy forwards forms, but drops the responses
// to them, and cuts every other connection except that of the live stream.
func (s *testShop) losingAnswers(lose *atomic.Bool) {
	s.t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(shoptest.Must(url.Parse(s.url))(s.t))
	s.url = shoptest.Serve(s.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !lose.Load() || r.URL.Path == "/staff/live" {
			proxy.ServeHTTP(w, r)
			return
		}
		if r.Method == http.MethodPost {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
		}
		panic(http.ErrAbortHandler) // closes the connection
	})).URL
}

// If the response to a form is lost, the page does not claim to know what was saved. It asks the server and shows what is
// true, and does not blame somebody else for the user's own change.
func TestLostAnswerIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	var lose atomic.Bool
	s.losingAnswers(&lose)
	p := s.clerk(desktop)
	p.open("/staff/pets/1", "#reserve-reference")
	lose.Store(true)
	p.fill("#reserve-reference", "Mrs Novák"+kb.Enter)
	p.waitText("#flashes .problem", "it isn’t known whether your change was saved")
	// The live stream tells the page of the order. The page does not take it for somebody else's.
	p.waitFor(`document.querySelector("form[aria-busy=true] #reserve-reference")?.value === "Mrs Novák"`)
	p.accessible("a page that has lost an answer")
	browsertest.Eval[bool](p.Page, "elapse(), true") // the message stays
	p.waitText("#flashes .problem", "Asking the server…")
	lose.Store(false)
	p.waitText("#flashes .info", "Your change was saved.")
	p.waitText("#order-1", "Mrs Novák")
	p.waitFor(`!document.querySelector("#flashes .problem")`)
	p.accessible("a page that knows what was saved")

	// The change of a row, where the list has a script of its own.
	p.open("/staff/pets", "#pet-1")
	p.choose("#pet-1", "#pet-1-edit")
	p.waitVisible("#edit-1-name")
	lose.Store(true)
	p.fill("#edit-1-name", "Rexo"+kb.Enter)
	p.waitText("#flashes .problem", "isn’t known")
	lose.Store(false)
	p.waitText("#flashes .info", "Your change was saved.")
	p.waitText("#pet-1-name", "Rexo")
	p.tick(1)
	p.waitText("#bulk-count", "1 selected")

	// A form that never reached the server is not saved. What the user has typed is still there.
	p.choose("#pet-1", "#pet-1-edit")
	p.waitVisible("#edit-1-name")
	p.offline(true)
	p.fill("#edit-1-name", "Max"+kb.Enter)
	p.waitText("#flashes .problem", "isn’t known")
	p.offline(false)
	p.waitText("#flashes .problem", "If your change is missing, make it again.")
	p.fill("#edit-1-name", "Max"+kb.Enter)
	p.waitText("#pet-1-name", "Max")
	s.AddPet(t, "Bella", 1, shop.Available)
	p.open("/staff/pets/2", "#reserve-reference")
	p.offline(true)
	p.fill("#reserve-reference", "Mr Smith"+kb.Enter)
	p.waitText("#flashes .problem", "isn’t known")
	p.offline(false)
	p.waitText("#flashes .problem", "If your change is missing, make it again.")
	p.waitFor(`document.querySelector("#reserve-reference").value === "Mr Smith"`)
	p.click("#reserve-submit")
	p.waitText("#order-2", "Mr Smith")
	orders, err := s.ListOrders(t.Context(), shop.Caller{}, shop.OrderList{PageRequest: shop.PageRequest{Limit: 10}})
	if err != nil || len(orders.Items) != 2 {
		t.Errorf("got the orders %+v, %v", orders.Items, err)
	}
	p.ConsoleErrors() // discards the expected errors about lost responses
}
