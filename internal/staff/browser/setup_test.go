package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
	"animalstore/internal/staff"
)

// An owner opens the link of the first start and sets up the shop, with a name, a person and an animal. The documentation
// says how many clicks and keys that takes.
func TestEmptyShopIsSetUpWithFewClicksAndKeys(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	key, err := s.CreateKey(t.Context(), shop.Caller{}, shop.NewKey{Name: "Owner", Scopes: shop.RoleAdmin.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	link, err := s.CreateSignInLink(t.Context(), key.ID)
	if err != nil {
		t.Fatal(err)
	}
	owner := worker{&user{browsertest.Open(t, desktop, 900), t, s, desktop}, new(effort)}
	owner.resize(desktop)
	owner.openLink(staff.SignInLink(s.url, link.Token))
	owner.click(".sign-in button.primary")
	owner.waitText("h2", "What is it called?")
	owner.accessible("the first step of the set-up")
	owner.click(`.settings [name="name"]`)
	owner.enter("Happy Paws" + kb.Enter)
	owner.waitText("h2", "Who works here?")
	owner.focused(`[name="name"]`)
	owner.accessible("the second step of the set-up")
	owner.enter("Anna" + kb.Enter)
	owner.waitText("h1", "Sign in as Anna")
	owner.accessible("the link of a new person")
	owner.click(".new-link .button.primary")
	owner.waitText("h2", "Which animals are there?")
	owner.accessible("the third step of the set-up")
	owner.click(`.ways a[href="/staff/pets"]`)
	owner.waitFor(`location.pathname === "/staff/pets" && document.readyState === "complete"`)
	owner.click("#add-name")
	owner.enter("Rex")
	owner.click("#add-new-category")
	owner.enter("Dogs" + kb.Enter)
	owner.waitText("#pet-1", "Rex")
	guide, err := os.ReadFile("../../../docs/staff.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d clicks and %d keys", owner.done.clicks, owner.done.keys); !strings.Contains(string(guide), want) {
		t.Errorf("docs/staff.md lacks %q", want)
	}
}
