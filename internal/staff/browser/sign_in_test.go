package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
)

// newPhone opens a page that is as wide as a phone. Nobody is signed in.
func (s *testShop) newPhone() *user {
	s.t.Helper()
	p := &user{browsertest.Open(s.t, phone, 900), s.t, s, phone}
	p.resize(phone)
	return p
}

// openLink opens a sign-in link.
func (p *user) openLink(link string) {
	p.t.Helper()
	p.Run(chromedp.Navigate(link))
	p.waitVisible(".sign-in")
}

// wantConsoleError checks that every error on the browser's console contains the given HTTP status.
func (p *user) wantConsoleError(status string) {
	p.t.Helper()
	for _, message := range p.ConsoleErrors() {
		if !strings.Contains(message, status) {
			p.t.Errorf("error on the console: %s", message)
		}
	}
}

// An administrator shows a person the sign-in link for that person's key, and the person signs in on a phone. The shop
// is served without TLS, as on a local network, so browsers do not send the Sec-Fetch-Site header.
func TestSignInOnAPhone(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	s.url = strings.Replace(s.url, "127.0.0.1", "shop.test", 1)
	if _, err := s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: "Anna", Scopes: shop.RoleStaff.Scopes()}); err != nil {
		t.Fatal(err)
	}
	admin := s.signIn(desktop, s.Key(t, shop.Admin).Secret)
	admin.open("/staff/people", "#person-1")
	admin.click("#person-1 .sign-in-link button")
	admin.waitVisible("svg.qr")
	admin.accessible("a new sign-in link")
	link := admin.text("#link")

	anna := s.newPhone()
	anna.openLink(link)
	anna.waitText("h1", "Sign in as Anna")
	anna.accessible("a sign-in link")
	if referrer := browsertest.Eval[string](anna.Page, "document.referrer"); referrer != "" {
		t.Errorf("the referrer of the link is %q", referrer)
	}
	anna.click(`[name="keep"]`)
	anna.click(".sign-in button.primary")
	anna.waitVisible("#first-day")
	if referrer := browsertest.Eval[string](anna.Page, "document.referrer"); referrer != s.url+"/" {
		t.Errorf("the referrer after the sign-in is %q, want %q", referrer, s.url+"/")
	}

	// The link works only once.
	thief := s.newPhone()
	thief.openLink(link)
	thief.waitText("h1", "This link no longer works")
	thief.accessible("a used sign-in link")
	thief.wantConsoleError("410")

	// Anna creates a link for another device, but the link expires before it is used.
	anna.open("/staff/devices", `[action="/staff/devices/link"] button`)
	anna.accessible("devices")
	anna.click(`[action="/staff/devices/link"] button`)
	anna.waitVisible("svg.qr")
	link = anna.text("#link")
	s.Clock.Forward(shop.SignInLinkLifetime)
	thief.openLink(link)
	thief.waitText("h1", "This link no longer works")
	thief.wantConsoleError("410")

	// The administrator ends Anna's session, and her open page notices.
	anna.open("/staff/pets")
	admin.open("/staff/devices", "#other-devices")
	admin.waitText(".devices", "Anna")
	admin.accessible("the devices of everyone")
	admin.click(`section[aria-labelledby="other-devices"] [action="/staff/devices/end"] button`)
	admin.waitFor(`!document.querySelector('section[aria-labelledby="other-devices"] table')`)
	anna.waitVisible(`[name="key"]`)
	anna.waitText(".warning", "not signed in")
}

// A new key gets the scopes of its role. The checkboxes for single scopes are visible only while the role "custom" is
// selected.
func TestKeyIsCreatedByRole(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	admin := s.signIn(desktop, s.Key(t, shop.Admin).Secret)
	admin.open("/staff/people")
	admin.click("details > summary.primary")
	admin.waitVisible(`[name="role"][value="staff"]:checked`)
	admin.waitFor(`!document.querySelector('[name="scope"]').checkVisibility()`)
	admin.click(`[name="role"][value="custom"]`)
	admin.waitVisible(`[name="scope"]`)
	admin.accessible("a new key")
	admin.click(`[name="role"][value="partner-order"]`)
	admin.fill(`[action="/staff/people"] [name="name"]`, "website")
	admin.click(`[action="/staff/people"] button.primary`)
	admin.waitText(".secret", "website was added")
	admin.waitText("#person-2", "Partner (reads and orders)")
	admin.click(".secret .sign-in-link button")
	admin.waitText("h1", "Sign in as website")
}
