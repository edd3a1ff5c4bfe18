package staff

import (
	"context"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// The first sign-in of an owner leads to the three steps of the set-up, and each step works without scripts. Nobody else is
// led there, and nobody any more once somebody has begun to use the shop.
func TestNewShopIsSetUpInThreeSteps(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	owner, clerk := s.Key(t, shop.Admin).Secret, s.Key(t, shop.RoleStaff.Scopes()...).Secret
	s.browser().post("/staff/sign-in", "key", clerk, "next", "/").wantRedirect("/")
	b := s.browser()
	b.post("/staff/sign-in", "key", owner, "next", "/").wantRedirect("/staff/setup/shop")
	b.mustGet("/", "No animals yet", "Set up your shop", "Import a spreadsheet").lacks("administrator", "Arrivals and sales", "Nothing to approve", "0 Total")
	b.mustGet("/staff/setup/shop", "What is it called?").contains(`href="/staff/setup/people"`)
	b.post("/staff/setup/shop", "name", "Happy Paws", "currency", "Euro", "kind", "shelter").want(422, "Must be a currency code", "Nothing was saved").contains(`value="Happy Paws"`)
	b.post("/staff/setup/shop", "name", "Happy Paws", "currency", "eur", "time-zone", "Europe/Berlin", "kind", "shelter").wantRedirect("/staff/setup/people")
	want := shop.Settings{Name: "Happy Paws", Currency: "EUR", TimeZone: "Europe/Berlin", Kind: shop.KindShelter}
	if got := shoptest.Must(s.Settings(t.Context()))(t); got.ETag() != want.ETag() {
		t.Errorf("got the settings %+v, want %+v", got, want)
	}
	b.mustGet("/staff/setup/people", "Who works here?", "Already here").contains(`href="/staff/setup/animals"`)
	b.post("/staff/people", "name", "Anna", "role", "staff", "setup", "yes").want(200, "Anna was added.", "Sign in as Anna", "Continue").contains(`href="/staff/setup/animals"`)
	b.mustGet("/staff/setup/animals", "From a spreadsheet", "One by one").lacks("Demo data")
	b.get("/staff/setup/window").want(404)
	b.post("/staff/setup/demo").want(404)
	s.browser().post("/staff/sign-in", "key", owner, "next", "/").wantRedirect("/")
	s.AddPet(t, "Rex", 1, shop.Available)
	b.mustGet("/", "Nothing to approve", "1 Total").lacks("Set up your")
}

// Demo data fills only an empty shop, after a question.
func TestDemoDataIsOfferedForAnEmptyShop(t *testing.T) {
	t.Parallel()
	filled, refuse := 0, error(nil)
	s := newShop(t, Config{FillDemo: func(context.Context) error { filled++; return refuse }})
	b := s.signedIn(s.Key(t, shop.Admin).Secret)
	b.mustGet("/staff/setup/animals", "Demo data")
	b.post("/staff/setup/demo").want(200, "Fill the shop with demo data?")
	if filled != 0 {
		t.Fatal("the shop was filled before the answer")
	}
	b.post("/staff/setup/demo", "confirmed", "yes").wantRedirect("/")
	b.mustGet("/", "The shop is filled.")
	refuse = shop.Errorf(shop.ValidationFailed, "The store is not empty any more.")
	b.post("/staff/setup/demo", "confirmed", "yes").wantRedirect("/staff/setup/animals")
	b.mustGet("/staff/setup/animals", "not empty any more")
	if filled != 2 {
		t.Errorf("the shop was filled %d times, want 2", filled)
	}
	s.AddPet(t, "Rex", 1, shop.Available)
	b.mustGet("/staff/setup/animals", "One by one").lacks("Demo data")
}
