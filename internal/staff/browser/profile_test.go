package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
)

// updateProfile changes the profile of the first animal directly through the service.
func (s *testShop) updateProfile(change shop.ProfileChange) {
	s.t.Helper()
	if _, err := s.UpdateProfile(s.t.Context(), shop.Caller{}, 1, change, nil); err != nil {
		s.t.Fatal(err)
	}
}

// A section is edited in its place, with the keyboard alone. The focus stays with the section.
func TestProfileIsEditedInPlace(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p, other := s.clerk(desktop), s.clerk(390)
	p.open("/staff/pets/1", "#edit-about")
	other.open("/staff/pets/1", "#edit-facts")
	p.accessible("an animal without a profile")
	focused := func(id string) {
		t.Helper()
		p.waitFor(`document.activeElement.id === %q`, id)
	}
	p.click("#edit-about")
	focused("about-description")
	p.accessible("a section being edited")
	p.Run(chromedp.KeyEvent("Loves walks." + kb.Enter + "And naps."))
	// Another user changes another section, and the page around the form is updated. The form stays.
	other.click("#edit-facts")
	other.fill("#facts-breed", "Beagle"+kb.Enter)
	p.waitText("#profile-facts", "Beagle")
	focused("about-description")
	p.Run(chromedp.KeyEvent(" Daily." + kb.Tab + "calm, kids" + kb.Enter))
	p.waitText("#profile-about .lines", "Loves walks.\nAnd naps. Daily.")
	p.waitText("#profile-about .tags", "kids")
	p.waitText("#flashes", "Rex was saved.")
	focused("edit-about")
	other.waitText("#profile-about", "Loves walks.")
	p.accessible("an animal with a profile")
	p.click("#flashes button")
	p.waitText("#profile-about", "No description yet.")
	p.waitText("#flashes", "Rex is as before.")

	// Escape cancels.
	p.click("#edit-traits")
	p.waitVisible("#traits-neutered-1")
	p.accessible("the traits being edited")
	p.Run(chromedp.KeyEvent(kb.ArrowRight + kb.Escape))
	focused("edit-traits")
	p.waitText("#profile-traits", "Nothing known yet.")
	p.click("#edit-traits")
	p.click("#traits-neutered-1")
	p.click("#save-traits")
	p.waitText("#profile-traits .yes", "Neutered")
	focused("edit-traits")

	// A problem is shown beside its field, and the form keeps what was typed.
	p.click("#edit-price")
	p.fill("#price-amount", "cheap"+kb.Enter)
	p.waitText("#price-amount-note", "Must be a decimal number")
	p.accessible("a section with a problem")
	p.fill("#price-amount", "250")
	p.fill("#price-currency", "eur"+kb.Enter)
	p.waitText("#profile-price .price", "€250.00")

	// The second of two changes to the same section is shown, and not saved.
	p.click("#edit-internal")
	p.waitVisible("#internal-microchip")
	s.updateProfile(shop.ProfileChange{Location: new("Kennel 4")})
	other.waitText("#profile-internal", "Kennel 4")
	p.fill("#internal-location", "Kennel 5"+kb.Enter)
	p.waitText("#internal-location-note", "Kennel 4")
	p.accessible("a conflict in a section")
	p.click("#save-internal")
	other.waitText("#profile-internal", "Kennel 5")
}

func TestProfileIsPublishedAndUndone(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p, other := s.clerk(desktop), s.clerk(phone)
	p.open("/staff/pets/1", "#publish")
	other.open("/staff/pets/1", "#publish")
	checked := `document.querySelector("#publish").getAttribute("aria-checked") === %q`
	p.click("#publish")
	p.waitFor(checked+` && document.activeElement.id === "publish"`, "true")
	other.waitFor(checked, "true")
	p.click("#flashes button")
	other.waitFor(checked, "false")
	p.waitFor(checked, "false")
}

// Everything essential works without scripts.
func TestProfileIsEditedWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p := s.clerkWithoutScripts(desktop)
	p.open("/staff/pets/1", "#edit-facts")
	p.click("#edit-facts")
	p.fill("#facts-breed", "Beagle"+kb.Enter)
	p.waitText("#profile-facts", "Beagle")
	p.click("#publish")
	p.waitVisible(`#publish[aria-checked="true"]`)
	p.click("#flashes button")
	p.waitVisible(`#publish[aria-checked="false"]`)
	if text := browsertest.Eval[string](p.Page, `document.querySelector("#flashes").textContent`); text != "Rex is as before." {
		t.Errorf("the page says %q", text)
	}
}
