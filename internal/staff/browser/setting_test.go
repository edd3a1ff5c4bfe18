package browser

import (
	"fmt"
	"testing"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
)

// An administrator names the shop, sees the name at once, and takes that back.
func TestSettingsAreSavedAndUndone(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	for _, width := range []int{desktop, phone} {
		p := s.signIn(width, s.adminKey(fmt.Sprint("Anna ", width)))
		p.open("/staff/settings", ".settings")
		p.waitFor(`document.querySelectorAll("#time-zones option").length > 100`)
		p.accessible("the settings")
		p.fill(`[name="name"]`, "The Happy Paws Animal Rescue and Rehoming Centre of Lower Franconia")
		p.fill(`[name="time-zone"]`, "Berlin")
		p.click(`[value="shelter"]`)
		p.click(".settings .primary")
		p.waitVisible("#time-zone-problem")
		p.ConsoleErrors() // discards the expected error about the status 422
		p.accessible("settings that are not valid")
		p.fill(`[name="time-zone"]`, "Europe/Berlin")
		p.click(".settings .primary")
		p.waitText("#flashes", "The settings were saved.")
		p.waitFor(`document.title.startsWith("Settings · The Happy Paws")`)
		p.waitText("#shop", "The shelter")
		p.accessible("the settings of a shelter")
		p.click("#flashes button")
		p.waitText("#flashes", "The settings are as before.")
		if name := browsertest.Eval[string](p.Page, `document.querySelector('[name="name"]').value`); name != "" {
			t.Errorf("the name is %q", name)
		}
	}
}
