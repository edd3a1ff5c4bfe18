package staff

import (
	"strings"
	"unicode/utf8"

	"animalstore/internal/shop"
)

// navItem is a link in the navigation. Desktops show all links in the sidebar. Phones show the tabs at the bottom and
// the other links in the "More" menu.
type navItem struct {
	Label   string
	Icon    string // the name of a symbol in static/icons.svg
	Path    string
	Tab     bool
	Gap     bool   // whether the link begins a new group
	Key     string // the letter that opens the section if it is typed after "g", or ""
	Current string // the value of aria-current, or ""

	// section is the name of the page that the link opens. In the paths of the pages below it, this name follows
	// /staff/.
	section string
	scope   shop.Scope
}

// navItems lists the sections of the staff pages in the order of the navigation.
var navItems = []navItem{
	{Label: "Today", Icon: "today", Path: "/", Tab: true, Key: "T", section: "today", scope: signedIn},
	{Label: "Animals", Icon: "animals", Path: "/staff/pets", Tab: true, Key: "A", section: "pets", scope: shop.PetsRead},
	{Label: "Orders", Icon: "orders", Path: "/staff/orders", Tab: true, Key: "O", section: "orders", scope: shop.OrdersRead},
	{Label: "Activity", Icon: "activity", Path: "/staff/activity", section: "activity", scope: shop.EventsRead},
	{Label: "Categories", Icon: "categories", Path: "/staff/categories", Gap: true, section: "categories", scope: shop.PetsRead},
	{Label: "Files", Icon: "files", Path: "/staff/import", section: "import", scope: shop.PetsRead},
	{Label: "People", Icon: "user", Path: "/staff/people", Gap: true, section: "people", scope: shop.Admin},
	{Label: "Settings", Icon: "settings", Path: "/staff/settings", section: "settings", scope: shop.Admin},
	{Label: "Webhooks", Icon: "webhooks", Path: "/staff/webhooks", section: "webhooks", scope: shop.Admin},
}

// Nav returns the links to the sections that the user's key may see.
func (v *view) Nav() (items []navItem) {
	for _, item := range navItems {
		if item.scope != signedIn && !v.principal.HasScope(item.scope) {
			continue
		}
		switch item.section {
		case v.Page:
			item.Current = "page"
		case v.section:
			item.Current = "true" // the current page is below the section's main page
		}
		items = append(items, item)
	}
	return items
}

// initial returns the first character of a name, which is shown in place of a picture of the user.
func initial(name string) string {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(name))
	return string(r)
}
