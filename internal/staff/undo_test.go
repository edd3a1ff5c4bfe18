package staff

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// undo opens a page and presses the Undo button of the message on it. The test fails if there is no such button.
func (b *browser) undo(page string) response {
	b.t.Helper()
	body := b.mustGet(page).body
	form := regexp.MustCompile(`<div class="info"[^>]*><span>[^<]*</span><form method="post" action="([^"]*)">(.*?)<button class="undo">Undo`).FindStringSubmatch(body)
	if form == nil {
		b.t.Fatalf("%s offers no Undo", page)
	}
	b.mustGet(page).lacks("Undo</button>") // the message with the button is shown only once
	return b.post(form[1], hiddenFields(form[2])...)
}

// lacksUndo checks that the message in the header of the response has no Undo button.
func (r response) lacksUndo() {
	r.t.Helper()
	if header := r.header.Get("HX-Trigger"); strings.Contains(header, `"undo"`) {
		r.t.Errorf("%s: the message can be undone: %s", r.request, header)
	}
}

// hiddenFields returns the names and values of the hidden fields in the source of a form.
func hiddenFields(form string) (fields []string) {
	for _, field := range regexp.MustCompile(`name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
		fields = append(fields, field[1], html.UnescapeString(field[2]))
	}
	return fields
}

// wantPet checks the current state of an animal.
func (s *testShop) wantPet(want shop.Pet) {
	s.t.Helper()
	if pet, err := s.Pet(s.t.Context(), want.ID, nil); err != nil || pet != want {
		s.t.Errorf("the animal is %+v (error %v), want %+v", pet, err, want)
	}
}

func TestChangesOfAnimalsAreUndone(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	rex := s.AddPet(t, "Rex <&", 7, shop.Available)
	edit := []string{"was-name", "Rex <&", "was-category", "7", "name", "Max", "category", "8", "back", "/staff/pets"}
	b.post("/staff/pets/1", edit...).wantRedirect("/staff/pets")
	b.undo("/staff/pets").wantRedirect("/staff/pets")
	b.mustGet("/staff/pets", "Rex <& is as before.")
	s.wantPet(rex)
	b.post("/staff/pets/1/status", "was", "available", "to", "sold").wantRedirect("/staff/pets/1")
	b.undo("/staff/pets/1").wantRedirect("/staff/pets/1")
	s.wantPet(rex)
	// If nothing was changed, there is no Undo button.
	b.post("/staff/pets/1", "was-name", "Rex <&", "was-category", "7", "name", "Rex <&", "category", "7")
	b.mustGet("/staff/pets/1", "Rex <& was saved.").lacks("Undo</button>")
	// With scripts, the message and its Undo button come in a header of the response.
	got := b.withHTMX().post("/staff/pets/1/status", "was", "available", "to", "pending").want(200, "Rex")
	var triggers struct{ Flash message }
	shoptest.OK(t, json.Unmarshal([]byte(got.header.Get("HX-Trigger")), &triggers))
	if m := triggers.Flash; m.Text != "Rex <& is now reserved." || m.Undo != "/staff/pets/undo" || m.Values["status-1"] != "available" || len(m.Values) != 2 || m.About != "pet-1" {
		t.Errorf("got the message %+v", m)
	}
}

// An animal that was just added can be removed again, unless anything has happened to it since.
func TestAddedAnimalIsRemovedAgain(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	add := []string{"name", "Rex", "category", "new", "new-category", "Dogs", "status", "available"}
	b.post("/staff/pets", add...).wantRedirect("/staff/pets")
	b.undo("/staff/pets").wantRedirect("/staff/pets")
	b.mustGet("/staff/pets", "Animal 1 was removed again.", "No animals yet.")
	s.wantPetCount(0)
	for i, change := range []func(id int64){
		func(id int64) {
			shoptest.Must(s.UpdateProfile(t.Context(), shop.Caller{}, id, shop.ProfileChange{Sex: new(shop.Male)}, nil))(t)
		},
		func(id int64) {
			shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, id, shop.PetChange{Name: new("Max")}, nil))(t)
		},
		func(id int64) {
			order := shoptest.Must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: id}))(t)
			shoptest.Must(s.UpdateOrder(t.Context(), shop.Caller{}, order.ID, shop.OrderChange{Status: new(shop.Cancelled)}, nil))(t)
		},
	} {
		id := int64(2 + i)
		undo := petPath(id) + "/undo"
		b.withHTMX().post("/staff/pets", add...).want(200, fmt.Sprintf("Rex was added as number %d.", id), `"undo":"`+undo+`"`, fmt.Sprintf(`"about":"pet-%d"`, id))
		change(id)
		b.withHTMX().post(undo).want(200, fmt.Sprintf("Someone has changed animal %d in the meantime, so nothing was undone.", id))
	}
	s.wantPetCount(3)
	b.post("/staff/pets/1/undo").wantRedirect("/staff/pets")
}

// Undo changes nothing if someone has changed any field of the animal since.
func TestUndoDoesNotOverwriteALaterChange(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	rex := s.AddPet(t, "Rex", 1, shop.Available)
	for _, later := range []shop.PetChange{{Name: new("Rexo")}, {CategoryID: new(int64(2))}, {Status: new(shop.Sold)}} {
		back := fmt.Sprint("/staff/pets/", rex.ID)
		b.post(back+"/status", "was", "available", "to", "pending").wantRedirect(back)
		changed := shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, rex.ID, later, nil))(t)
		b.undo(back).wantRedirect(back)
		b.mustGet(back, "Someone has changed "+changed.Name+" in the meantime, so nothing was undone.")
		s.wantPet(changed)
		rex = s.AddPet(t, "Rex", 1, shop.Available)
	}
	// With scripts, the page also reloads the animal's current state.
	id := fmt.Sprint(rex.ID)
	b.withHTMX().post("/staff/pets/undo", "pet-"+id, "x", "status-"+id, "sold").want(200, `"problem":"Someone has changed Rex`, fmt.Sprintf(`"pet-%d":""`, rex.ID))
	s.wantPet(rex)
	b.withHTMX().post("/staff/pets/undo", "pet-99", "x", "status-99", "sold").want(200, "no animal")
}

// The user is asked before a change of status that cannot be undone, with and without scripts. After the change, there
// is no Undo button.
func TestChangesWithoutAWayBackAskFirst(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	for _, c := range []struct {
		from, to shop.Status
		why      string
	}{
		{"", shop.Available, "an animal that has a status always keeps one"},
		{shop.Pending, shop.Sold, "an animal that is sold can’t become reserved again"},
	} {
		pet := s.AddPet(t, "Rex", 1, c.from)
		path := petPath(pet.ID)
		form := []string{"was", string(c.from), "to", string(c.to), "back", "/staff/pets"}
		b.mustGet(path, fmt.Sprintf("Mark as %s…", c.to))
		b.post(path+"/status", form...).want(200, fmt.Sprintf("Mark Rex as %s?", c.to), "This can’t be undone: "+c.why+".").
			contains(`action="`+path+`/status"`, fmt.Sprintf(`name="to" value=%q`, c.to), `name="confirmed" value="yes"`, `href="/staff/pets">Cancel`)
		dialog := b.withHTMX().with("HX-Target", "pet-detail").post(path+"/status", form...).want(200, fmt.Sprintf("Mark Rex as %s?", c.to)).
			contains("<dialog", `hx-target="#pet-detail"`).lacks("<html")
		if target := dialog.header.Get("HX-Retarget"); target != "#question" {
			t.Errorf("the question is for %q", target)
		}
		s.wantPet(pet)
		b.post(path+"/status", append(form[:4], "confirmed", "yes")...).wantRedirect(path)
		b.mustGet(path, fmt.Sprintf("Rex is now %s.", c.to)).lacks("Undo</button>")
		// The question is also shown if the status in the form is outdated.
		b.post(path+"/status", form[:4]...).want(200, "can’t be undone")
	}
}

// Removing a key, a webhook or a category without a name cannot be undone. Neither can giving a key or a webhook a new
// secret. The user is therefore asked first.
func TestRemovalsWithoutAWayBackAskFirst(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	shoptest.Must(s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: "Till <1>", Scopes: []shop.Scope{shop.PetsRead}}))(t)
	shoptest.Must(s.CreateWebhook(t.Context(), shop.Caller{}, shop.NewWebhook{URL: "https://example.com/hook"}))(t)
	s.AddPet(t, "Rex", 7, "")
	shoptest.OK(t, s.DeletePet(t.Context(), shop.Caller{}, 1, nil))
	for path, want := range map[string]string{
		"/staff/people/1/revoke": "Remove the access of Till <1>?", "/staff/people/1/rotate": "Make a new secret for Till <1>? The old secret stays valid for 1 hour.",
		"/staff/webhooks/1/delete": "Remove this webhook? https://example.com/hook", "/staff/webhooks/1/rotate": "Create a new secret for this webhook?",
		"/staff/categories/7/delete": "Remove category 7?",
	} {
		b.post(path, "overlap", "1").want(200, want, "can’t be undone", "Cancel").contains(`action="`+path+`"`, `name="confirmed" value="yes"`, `name="overlap" value="1"`)
	}
	shoptest.Must(s.Webhook(t.Context(), 1))(t)
	shoptest.Must(s.Category(t.Context(), 7))(t)
	b.mustGet("/staff/people", "Till <1>").contains(`name="confirmed" value="yes"`)
	b.post("/staff/categories/7/delete", "confirmed", "yes").wantRedirect("/staff/categories")
	b.mustGet("/staff/categories", "Category 7 was removed.").lacks("Undo</button>")
	b.post("/staff/webhooks/9/delete").want(404)
}

// Undo restores a renamed or removed category, unless somebody has changed it since.
func TestChangesOfCategoriesAreUndone(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.post("/staff/categories", "name", "Dogs")
	const page = "/staff/categories"
	wantName := func(want string) {
		t.Helper()
		if category, err := s.Category(t.Context(), 1); err != nil || category.Name != want {
			t.Errorf("the category is %+v (error %v), want %s", category, err, want)
		}
	}
	b.post(page+"/1", "was-name", "Dogs", "name", "Hounds").wantRedirect(page)
	b.undo(page).wantRedirect(page)
	b.mustGet(page, "Dogs is as before.")
	wantName("Dogs")
	b.post(page+"/1/delete", "was-name", "Dogs").wantRedirect(page)
	b.undo(page).wantRedirect(page)
	wantName("Dogs")
	// Undo is refused if the category has been renamed again, or if a removed category has been created again.
	b.post(page+"/1/undo", "name", "Cats", "was-name", "Hounds").wantRedirect(page)
	b.mustGet(page, "Someone has changed category 1 in the meantime, so nothing was undone.")
	b.post(page+"/1/undo", "name", "Cats", "was-name", "").wantRedirect(page)
	wantName("Dogs")
	// Giving a category its first name cannot be undone.
	s.AddPet(t, "Rex", 7, "")
	b.post(page+"/7", "was-name", "", "name", "Cats").wantRedirect(page)
	b.mustGet(page).lacks("Undo</button>")
}

func TestRemovedAnimalKeepsItsPageAndIsRestored(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.PetsRead, shop.PetsWrite, shop.OrdersRead, shop.EventsRead).Secret)
	rex := s.addOrderedPet("Rex")
	shoptest.Must(s.UpdateOrder(t.Context(), shop.Caller{}, 1, shop.OrderChange{Status: new(shop.Cancelled)}, nil))(t)
	was := []string{"was-name", "Rex", "was-category", "1", "was-status", "available"}
	b.post("/staff/pets/1/delete", was...).wantRedirect("/staff/pets/1")
	if _, err := s.Pet(t.Context(), rex.ID, nil); err == nil {
		t.Fatal("the animal was not removed at once")
	}
	b.mustGet("/staff/pets/1", "Rex Removed", "Restore", "Rex was removed from the catalogue", "1 Cancelled", "removed Rex").
		lacks("/staff/pets/1/edit", "/staff/pets/1/delete", "reserve-reference", `name="to"`)
	b.mustGet("/staff/pets/removed", "1 Rex", "Žofie <at the till> Restore")
	// A user who may neither read events nor restore the animal cannot see the removed animal.
	other := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	other.get("/staff/pets/1").want(404)
	other.withHTMX().mustGet("/staff/pets/1/row", "1 This animal was removed.").lacks("Rex", "restore")
	b.post("/staff/pets/1/restore", "back", "/staff/pets/removed").wantRedirect("/staff/pets/removed")
	b.mustGet("/staff/pets/removed", "Rex was restored.", "No animals have been removed.")
	s.wantPet(shop.Pet{ID: 1, Name: "Rex", CategoryID: 1, Status: shop.Available})
	b.mustGet("/staff/pets/1", "Rex Available", "restored")
	// Undo also works after a removal in the list. If the animal has already been restored, the user is told so.
	b.post("/staff/pets/1/delete", append(was, "back", "/staff/pets")...).wantRedirect("/staff/pets")
	b.undo("/staff/pets").wantRedirect("/staff/pets")
	s.wantPet(shop.Pet{ID: 1, Name: "Rex", CategoryID: 1, Status: shop.Available})
	b.withHTMX().post("/staff/pets/1/restore").want(200, "problem", "only a removed animal can be restored")
	b.get("/staff/pets/99").want(404)
}

func TestStepsOfOrdersAreUndone(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	rex := s.AddPet(t, "Rex", 1, shop.Available)
	wantOrder := func(id int64, status shop.OrderStatus, pet shop.Status) {
		t.Helper()
		order := shoptest.Must(s.Order(t.Context(), id))(t)
		if got := shoptest.Must(s.Pet(t.Context(), rex.ID, nil))(t).Status; order.Status != status || order.Reference != "Mrs Novák" || got != pet {
			t.Errorf("got the order %+v and an animal that is %s, want %s and %s", order, got, status, pet)
		}
	}
	b.post("/staff/pets/1/orders", "reference", "Mrs Novák").wantRedirect("/staff/pets/1")
	b.undo("/staff/pets/1").wantRedirect("/staff/pets/1")
	wantOrder(1, shop.Cancelled, shop.Available)
	b.post("/staff/pets/1/orders", "reference", "Mrs Novák")
	b.post("/staff/orders/2/status", "was", "placed", "to", "cancelled", "back", "/staff/orders").wantRedirect("/staff/orders")
	b.undo("/staff/orders").wantRedirect("/staff/orders")
	b.mustGet("/staff/orders", "Order 2 is reserved again.", "2 Rex")
	wantOrder(2, shop.Placed, shop.Pending)
	b.post("/staff/orders/2/status", "was", "placed", "to", "approved")
	b.undo("/staff/pets/1")
	b.mustGet("/staff/pets/1", "Configured key undid the approval of Rex · order 2")
	wantOrder(2, shop.Placed, shop.Pending)
	b.post("/staff/orders/2/status", "was", "placed", "to", "approved")
	b.post("/staff/orders/2/status", "was", "approved", "to", "delivered")
	wantOrder(2, shop.Delivered, shop.Sold)
	b.undo("/staff/pets/1")
	b.mustGet("/staff/pets/1", "Order 2 is approved again.", "Configured key undid the hand-over of Rex · order 2")
	wantOrder(2, shop.Approved, shop.Pending)
	// Undo is refused if somebody else has reserved the animal since.
	b.withHTMX().post("/staff/orders/2/status", "was", "approved", "to", "cancelled").want(200, `"undo":"/staff/orders/2/undo"`, `"about":"order-2"`)
	shoptest.Must(s.PlaceOrder(t.Context(), shop.Caller{}, shop.NewOrder{PetID: 1, Reference: "Mrs Novák"}))(t)
	b.withHTMX().post("/staff/orders/2/undo", "was", "cancelled").want(200, "The status of animal 1 has changed since order 2 became cancelled.", `"order-2":""`)
	wantOrder(3, shop.Placed, shop.Pending)
	b.post("/staff/orders/3/undo", "was", "approved").wantRedirect("/staff/orders")
	b.mustGet("/staff/orders", "Someone has changed order 3 in the meantime, so nothing was undone.")
	b.post("/staff/orders/99/undo", "was", "placed").wantRedirect("/staff/orders")
	b.mustGet("/staff/orders", "no order with the id 99")
}

// A message comes from a cookie, which an attacker could plant. Such a message cannot make the Undo button do
// anything except undo or restore.
func TestMessageUndoesNothingElse(t *testing.T) {
	t.Parallel()
	_, b := signIn(t)
	plant := func(text string) response {
		r := b.request("GET", "/staff/pets")
		r.AddCookie(&http.Cookie{Name: "animalstore_message", Value: base64.RawURLEncoding.EncodeToString([]byte(text))})
		return b.do(r).want(200)
	}
	got := plant(`{"text":"<b>Hi","undo":"/staff/pets/undo"}`).want(200, "<b>Hi").contains(`action="/staff/pets/undo"`)
	if cookie := got.header.Get("Set-Cookie"); !strings.Contains(cookie, "animalstore_message=;") || !strings.Contains(cookie, "HttpOnly; SameSite=Lax") {
		t.Errorf("the cookie is kept: %q", cookie)
	}
	for _, undo := range []string{"/staff/people/1/revoke", "https://example.com/staff/pets/undo", "/staff/pets/undo/../../../keys/1/revoke", "/staff/pets/1/delete"} {
		plant(`{"text":"Saved","undo":"`+undo+`"}`).lacks("Saved", `class="undo"`)
	}
	plant("{").lacks(`class="undo"`)
}
