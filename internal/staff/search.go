package staff

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// maxHits is the maximum number of animals, orders or categories that a search shows.
const maxHits = 5

// searchPage is the template data for the search in everything.
type searchPage struct {
	Query   string
	Problem string
	Groups  []hitGroup
}

// hitGroup holds the results of one kind.
type hitGroup struct {
	Label string
	Hits  []hit
	All   string // the path of the page with all results, or "" if there are no others
}

// hit is one result: a link with an icon, a title and some details.
type hit struct{ Icon, Path, Title, Detail string }

// Total returns the number of results.
func (s searchPage) Total() (n int) {
	for _, group := range s.Groups {
		n += len(group.Hits)
	}
	return n
}

// search finds animals, orders and categories by words or by number, as far as the user's key may read them.
func (p *Pages) search(x *exchange) error {
	page := searchPage{Query: strings.TrimSpace(x.r.URL.Query().Get("q"))}
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

// find adds the results for each kind. The searches for words run in the lane for heavy reads, and each does a
// bounded amount of work.
func (x *exchange) find(page *searchPage) error {
	number, err := strconv.ParseInt(strings.TrimPrefix(page.Query, "#"), 10, 64)
	isNumber := err == nil
	var kinds []func(string, int64, bool) (hitGroup, error)
	if x.May(shop.PetsRead) {
		kinds = append(kinds, x.findPets)
	}
	if x.May(shop.OrdersRead) {
		kinds = append(kinds, x.findOrders)
	}
	if x.May(shop.PetsRead) {
		kinds = append(kinds, x.findCategories)
	}
	for _, find := range kinds {
		group, err := find(page.Query, number, isNumber)
		if err != nil {
			return err
		}
		if len(group.Hits) > 0 || group.All != "" {
			page.Groups = append(page.Groups, group)
		}
	}
	return nil
}

func (x *exchange) findPets(query string, number int64, isNumber bool) (hitGroup, error) {
	group := hitGroup{Label: "Animals"}
	add := func(pet shop.PetView) {
		detail := "No. " + strconv.FormatInt(pet.ID, 10) + " · " + categoryName(pet.Category, pet.CategoryID)
		if pet.Status != "" {
			detail += " · " + string(pet.Status)
		}
		group.Hits = append(group.Hits, hit{"animals", "/staff/pets/" + strconv.FormatInt(pet.ID, 10), pet.Name, detail})
	}
	if isNumber {
		pet, err := x.Service.PetView(x.r.Context(), number)
		if err == nil {
			add(pet)
		} else if shop.AsError(err).Code != shop.NotFound {
			return group, err
		}
	}
	found, err := x.Service.ListPetViews(x.context(), shop.PetList{
		PetFilter: shop.PetFilter{Query: query}, PageRequest: shop.PageRequest{Limit: maxHits},
	})
	for _, pet := range found.Items {
		if !isNumber || pet.ID != number {
			add(pet)
		}
	}
	if found.More {
		group.All = "/staff/pets?" + url.Values{"name": {query}}.Encode()
	}
	return group, err
}

func (x *exchange) findOrders(query string, number int64, isNumber bool) (hitGroup, error) {
	group := hitGroup{Label: "Orders"}
	add := func(order shop.OrderView) {
		title, animal := order.Reference, "removed animal"
		if title == "" {
			title = "Order " + strconv.FormatInt(order.ID, 10)
		}
		if order.Pet != nil {
			animal = order.Pet.Name
		}
		group.Hits = append(group.Hits, hit{"orders", "/staff/pets/" + strconv.FormatInt(order.PetID, 10), title,
			"Order " + strconv.FormatInt(order.ID, 10) + " · " + animal + " · " + string(order.Status)})
	}
	if isNumber {
		page, err := x.loadOrder(number)
		if err == nil {
			add(page.Items[0])
		} else if shop.AsError(err).Code != shop.NotFound {
			return group, err
		}
	}
	found, err := x.Service.ListOrderViews(x.context(), shop.OrderList{Query: query, PageRequest: shop.PageRequest{Limit: maxHits}})
	for _, order := range found.Items {
		if !isNumber || order.ID != number {
			add(order)
		}
	}
	if found.More {
		group.All = "/staff/orders?" + url.Values{"q": {query}}.Encode()
	}
	return group, err
}

func (x *exchange) findCategories(query string, number int64, isNumber bool) (hitGroup, error) {
	group := hitGroup{Label: "Categories"}
	add := func(c shop.Category) {
		id := strconv.FormatInt(c.ID, 10)
		group.Hits = append(group.Hits, hit{"categories", "/staff/pets?category=" + id, categoryName(c, c.ID), "Category " + id})
	}
	if isNumber {
		byID, err := x.Service.CategoriesByID(x.r.Context(), []int64{number})
		if err != nil {
			return group, err
		}
		if category, exists := byID[number]; exists {
			add(category)
		}
	}
	found, err := x.Service.FindCategories(x.context(), query, maxHits)
	for _, category := range found.Items {
		if !isNumber || category.ID != number {
			add(category)
		}
	}
	return group, err
}
