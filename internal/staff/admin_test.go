package staff

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestCategories(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	b.post("/staff/categories", "name", "").want(t, http.StatusUnprocessableEntity, "Name must have")
	b.post("/staff/categories", "name", "Dogs").wantTo(t, "/staff/categories")
	s.add("Rex", 1, shop.Available)
	s.add("Max", 1, shop.Sold)
	s.add("Momo", 7, "")
	b.see("/staff/categories").want(t, 200, "1 Save 2 1 0 1", "7 Save 1 0 0 0")
	b.post("/staff/categories/7", "was-name", "", "name", "Rabbits").wantTo(t, "/staff/categories")
	b.post("/staff/categories/7", "was-name", "", "name", "Hares").want(t, http.StatusConflict, "Somebody else has named category 7 “Rabbits” meanwhile; your “Hares” was not saved")
	b.post("/staff/categories/7/delete").want(t, http.StatusConflict, "Category 7 still has animals")
	if err := s.service.DeletePet(t.Context(), 3, nil); err != nil {
		t.Fatal(err)
	}
	b.post("/staff/categories/7/delete").wantTo(t, "/staff/categories")
	if got := b.see("/staff/categories"); strings.Contains(got.body, "Rabbits") {
		t.Error("it is still there")
	}
}

func TestToday(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	b.see("/").want(t, 200, "0 available 0 pending 0 sold 0 no status 0 in all", "There is no animal yet")
	for i := range 3 {
		s.add("Rex", 1, []shop.Status{shop.Available, shop.Sold, ""}[i])
	}
	b.post("/staff/pets/1/orders")
	b.post("/staff/orders/1/status", "was", "placed", "to", "approved")
	b.post("/staff/orders/1/status", "was", "approved", "to", "delivered") // a sale
	b.post("/staff/pets/3/status", "was", "", "to", "sold")                // another, by hand
	page := b.see("/").want(t, 200, "0 available 0 pending 3 sold 0 no status 3 in all", "category 1 3")
	if rows := regexp.MustCompile(`<tr><th scope="row">\d[^<]*</th><td class="n">(\d+)</td><td class="n">(\d+)</td></tr>`).FindAllStringSubmatch(page.body, -1); len(rows) != 30 || rows[29][1] != "3" || rows[29][2] != "2" || rows[28][1] != "0" {
		t.Errorf("the days are %v", rows)
	}
	s.add("Max", 1, "")
	if page := b.see("/"); !strings.Contains(page.body, `<td class="n">4</td><td class="n">2</td></tr>`) {
		t.Error("what came since is not counted once")
	}
	s.signedIn(s.key(shop.EventsRead).Secret).see("/") // who may see nothing of it sees nothing
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.key(shop.Admin).Secret)
	b.post("/staff/keys", "name", "", "scope", "pets:read").want(t, http.StatusUnprocessableEntity, "Name must")
	b.post("/staff/keys", "name", "till", "scope", "pets:read", "expires", "soon").want(t, http.StatusUnprocessableEntity, "must be a date")
	b.post("/staff/keys", "name", "till", "scope", "pets:read", "expires", "2001-01-01").want(t, http.StatusUnprocessableEntity, "The time must")
	secret := regexp.MustCompile(`ask_live_\w+`)
	made := b.post("/staff/keys", "name", "till", "scope", "pets:read", "expires", "2099-12-31").want(t, 200, "till was made", "This is shown only now", "never 1 Jan 2100, 00:00 UTC")
	first := secret.FindString(made.body)
	till := s.signedIn(first)
	if again := b.see("/staff/keys").want(t, 200, "till pets:read"); strings.Contains(again.body, first) {
		t.Error("it is shown twice")
	}
	b.post("/staff/keys/2/rotate", "overlap", "x").want(t, http.StatusUnprocessableEntity, "how many hours")
	b.post("/staff/keys/2/rotate", "overlap", "721").want(t, http.StatusUnprocessableEntity, "must be from 0 to")
	rotated := b.post("/staff/keys/2/rotate", "overlap", "1").want(t, 200, "till has a new secret")
	if second := secret.FindString(rotated.body); second == first || second == "" {
		t.Errorf("the new secret is %q", second)
	}
	till.see("/staff/pets")
	b.post("/staff/keys/2/revoke").wantTo(t, "/staff/keys")
	b.post("/staff/keys/1/revoke").want(t, http.StatusConflict, "last admin key")
	b.post("/staff/keys/2/revoke").want(t, http.StatusNotFound, "no key with the id 2")
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(configuredKey)
	b.post("/staff/webhooks", "url", "ftp://x").want(t, http.StatusUnprocessableEntity, "The address must be")
	made := b.post("/staff/webhooks", "url", "https://example.com/hook", "type", "pet.created", "type", "pet.deleted").want(t, 200, "https://example.com/hook working", "shown only now")
	secret := regexp.MustCompile(`whsec_[\w+/=]+`)
	first := secret.FindString(strings.ReplaceAll(made.body, "&#43;", "+"))
	b.see("/staff/webhooks").want(t, 200, "https://example.com/hook working pet.created pet.deleted")
	if again := b.see("/staff/webhooks/1"); secret.MatchString(again.body) || first == "" {
		t.Error("it is shown twice")
	}
	b.post("/staff/webhooks/1/rotate", "overlap", "24").want(t, 200, "shown only now")
	b.post("/staff/webhooks/1/test").wantTo(t, "/staff/webhooks/1")
	b.see("/staff/webhooks/1").want(t, 200, "1 webhook.test pending 0")
	b.post("/staff/webhooks/1/deliveries/1").wantTo(t, "/staff/webhooks/1")
	b.see("/staff/webhooks/1?status=pending").want(t, 200, "2 webhook.test pending 0", "1 webhook.test pending 0")
	b.see("/staff/webhooks/1?status=failed").want(t, 200, "Nothing was sent yet")
	b.post("/staff/webhooks/1/deliveries/99").want(t, http.StatusNotFound, "no delivery")
	b.post("/staff/webhooks/1", "url", "https://example.com/other").wantTo(t, "/staff/webhooks/1")
	b.see("/staff/webhooks/1").want(t, 200, "https://example.com/other disabled")
	b.post("/staff/webhooks/1", "url", "x", "enabled", "on").want(t, http.StatusUnprocessableEntity, "The address must")
	b.post("/staff/webhooks/1/delete").wantTo(t, "/staff/webhooks")
	b.get("/staff/webhooks/1").want(t, http.StatusNotFound)
}
