package staff

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// dialogHits and pageHits are the maximum numbers of results of each kind (animals, orders or categories) in the search
// dialog and on the search page.
const dialogHits, pageHits = 5, 20

// searchPage is the template data for the search page and the results in the search dialog.
type searchPage struct {
	Query   string
	Problem string
	Groups  []hitGroup

	limit  int
	number *int64 // the number in the query, or nil if the query is not a number
}

// hitGroup holds the results of one kind.
type hitGroup struct {
	Label string // "Animals", "Orders" or "Categories"
	Hits  []hit
	All   string // the path of the page with all results, or "" if all are shown here
}

// hit is a search result. It links to a page.
type hit struct {
	Path, Title, Detail string
	Exists              bool             // whether the result is an animal that still exists
	Status              shop.Status      // the status of that animal
	OrderStatus         shop.OrderStatus // the status of the order if the result is an order
}

// Icon returns the name of the icon for results of this kind.
func (g hitGroup) Icon() string {
	switch g.Label {
	case "Orders":
		return "orders"
	case "Categories":
		return "categories"
	}
	return "animals"
}

// AllLabel returns the text of the link to all results. If the search stopped before it found anything, the link
// continues the search.
func (g hitGroup) AllLabel() string {
	if len(g.Hits) == 0 {
		return "Keep looking in all " + strings.ToLower(g.Label)
	}
	return "Show all matching " + strings.ToLower(g.Label)
}

// Total returns the number of results.
func (s searchPage) Total() (n int) {
	for _, group := range s.Groups {
		n += len(group.Hits)
	}
	return n
}

// SearchIn says what the user's key may search. It returns "" if the key may search nothing.
func (v *view) SearchIn() string { return searchIn(v.principal) }

func searchIn(principal shop.Principal) string {
	switch pets, orders := principal.HasScope(shop.PetsRead), principal.HasScope(shop.OrdersRead); {
	case pets && orders:
		return "Animals, orders, categories"
	case pets:
		return "Animals, categories"
	case orders:
		return "Orders"
	}
	return ""
}

// search finds animals, orders and categories by words or by number. It shows only what the user's key may read.
func (p *Pages) search(x *exchange) error {
	if searchIn(x.principal) == "" {
		return shop.Errorf(shop.InsufficientScope, "You do not have access to this. An owner can give it to you under People.")
	}
	page := searchPage{Query: strings.TrimSpace(x.r.URL.Query().Get("q")), limit: pageHits}
	if x.partial() {
		page.limit = dialogHits
	}
	if page.Query != "" {
		if reason := shop.TextProblem(page.Query); reason != "" {
			page.Problem = "The text " + reason + "."
		} else if err := x.find(&page); err != nil {
			return err
		}
	}
	if x.partial() {
		return x.showFragment("search-results", page)
	}
	return x.show(http.StatusOK, "search", "Search", page)
}

// numberText matches a number as the pages show it, such as "7", "#7", "No. 7" or "Order 7".
var numberText = regexp.MustCompile(`(?i)^(?:#|no\.?|order|category)?\s*(-?\d+)$`)

// find adds the results of every kind that the user's key may read. The searches for words count as heavy reads,
// and each of them does a limited amount of work.
func (x *exchange) find(page *searchPage) error {
	if match := numberText.FindStringSubmatch(page.Query); match != nil {
		if number, err := strconv.ParseInt(match[1], 10, 64); err == nil {
			page.number = &number
		}
	}
	for _, kind := range []struct {
		scope shop.Scope
		find  func(*searchPage) (hitGroup, error)
	}{{shop.PetsRead, x.findPets}, {shop.OrdersRead, x.findOrders}, {shop.PetsRead, x.findCategories}} {
		if !x.May(kind.scope) {
			continue
		}
		group, err := kind.find(page)
		if err != nil {
			return err
		}
		if len(group.Hits) > 0 || group.All != "" {
			page.Groups = append(page.Groups, group)
		}
	}
	return nil
}

// isNumber reports whether the query is this number.
func (s searchPage) isNumber(id int64) bool { return s.number != nil && *s.number == id }

func (x *exchange) findPets(page *searchPage) (hitGroup, error) {
	group := hitGroup{Label: "Animals"}
	add := func(pet shop.PetView, exists bool) {
		detail := "No. " + strconv.FormatInt(pet.ID, 10) + " · " + categoryName(pet.Category, pet.CategoryID)
		if breed := breeds(pet.Profile); breed != "" {
			detail += " · " + breed
		}
		// A word that is not in the text that everybody may search is in the microchip or the location.
		if words := shop.SearchWords(page.Query); exists && x.May(shop.PetsWrite) && !shop.ContainsWords(pet.Profile.Words(false), words) {
			contains := func(text string) bool {
				return slices.ContainsFunc(words, func(word string) bool { return shop.ContainsWords(text, []string{word}) })
			}
			if contains(pet.Profile.Microchip) {
				detail += " · Chip " + pet.Profile.Microchip
			}
			if contains(pet.Profile.Location) {
				detail += " · " + pet.Profile.Location
			}
		}
		if !exists {
			detail += " · removed"
		}
		group.Hits = append(group.Hits, hit{Path: petPath(pet.ID), Title: pet.Name, Detail: detail, Exists: exists, Status: pet.Status})
	}
	if page.number != nil {
		pet, err := x.Service.PetView(x.r.Context(), *page.number)
		exists := err == nil
		if isNotFound(err) {
			pet, err = x.removedPetView(*page.number)
		}
		if err == nil {
			add(pet, exists)
		} else if !isNotFound(err) {
			return group, err
		}
	}
	found, err := x.Service.ListPetViews(x.r.Context(), x.caller(), shop.ProfileList{
		ProfileFilter: shop.ProfileFilter{PetFilter: shop.PetFilter{Query: page.Query}, Internal: x.May(shop.PetsWrite)},
		PageRequest:   shop.PageRequest{Limit: page.limit},
	})
	for _, pet := range found.Items {
		if !page.isNumber(pet.ID) {
			add(pet, true)
		}
	}
	if found.More {
		group.All = petQuery{Text: page.Query}.Path()
	}
	return group, err
}

func (x *exchange) findOrders(page *searchPage) (hitGroup, error) {
	group := hitGroup{Label: "Orders"}
	add := func(order shop.OrderView) {
		number, animal := "Order "+strconv.FormatInt(order.ID, 10), "removed animal"
		if order.Pet != nil {
			animal = order.Pet.Name
		}
		found := hit{Path: orderPath(order.ID), Title: order.For(), Detail: number + " · " + animal, OrderStatus: order.Status}
		if found.Title == "" {
			found.Title, found.Detail = number, animal
		}
		group.Hits = append(group.Hits, found)
	}
	if page.number != nil {
		order, err := x.loadOrder(*page.number)
		if err == nil {
			add(order.Items[0])
		} else if !isNotFound(err) {
			return group, err
		}
	}
	found, err := x.Service.ListOrderViews(x.r.Context(), x.caller(), shop.OrderList{Query: page.Query, Customers: x.May(shop.Customers), PageRequest: shop.PageRequest{Limit: page.limit}})
	for _, order := range found.Items {
		if !page.isNumber(order.ID) {
			add(order)
		}
	}
	if found.More {
		group.All = orderQuery{Query: page.Query}.Path()
	}
	return group, err
}

func (x *exchange) findCategories(page *searchPage) (hitGroup, error) {
	group := hitGroup{Label: "Categories"}
	add := func(c shop.Category) {
		id := strconv.FormatInt(c.ID, 10)
		found := hit{Path: petQuery{Category: id}.Path(), Title: categoryName(c, c.ID)}
		if c.Name != "" {
			found.Detail = "Category " + id
		}
		group.Hits = append(group.Hits, found)
	}
	if page.number != nil {
		byID, err := x.Service.CategoriesByID(x.r.Context(), []int64{*page.number})
		if err != nil {
			return group, err
		}
		if category, exists := byID[*page.number]; exists {
			add(category)
		}
	}
	found, err := x.Service.FindCategories(x.r.Context(), x.caller(), page.Query, page.limit)
	for _, category := range found.Items {
		if !page.isNumber(category.ID) {
			add(category)
		}
	}
	if found.More && page.limit == dialogHits {
		group.All = "/staff/search?" + url.Values{"q": {page.Query}}.Encode()
	}
	return group, err
}
