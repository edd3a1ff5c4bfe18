package staff

import (
	"net/http"
	"net/url"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

const (
	// maxPrintedRows is the maximum number of animals or orders on a printed list.
	maxPrintedRows = 1000
	// maxPrintedReads is the maximum number of reads for one printed list. A search may need several reads.
	maxPrintedReads = 10
	// printedAtOnce is the number of animals that one of these reads returns, if there are as many.
	printedAtOnce = maxPrintedRows / 5
)

// acquirePrint waits until it is the key's turn to render a list for printing, which lasts until the list is sent. It
// also counts the exchange as an export, because a printed list needs megabytes while it is rendered, as
// an export does.
func (x *exchange) acquirePrint() error {
	err := x.acquire(admission.PrintedLists)
	if err == nil {
		err = x.acquire(admission.Exports)
	}
	if err != nil && shop.AsError(err).Code == shop.RateLimited {
		return shop.Errorf(shop.RateLimited, "Other lists are already being prepared for you; try again in a few seconds.")
	}
	return err
}

// printedPets is the template data for a list of animals on paper.
type printedPets struct {
	Query    petQuery
	Category string // the name of the category that the list is limited to
	Filters  []petChip
	Rows     []petRow
	More     bool // whether more animals match than the list shows
}

// printPets shows the animals that match the filters of the catalogue, for printing.
func (p *Pages) printPets(x *exchange) error {
	if err := x.acquirePrint(); err != nil {
		return err
	}
	query, filter, err := x.petQuery()
	if err != nil {
		return err
	}
	page := printedPets{Query: query}
	list := shop.ProfileList{ProfileFilter: filter, PageRequest: shop.PageRequest{Limit: printedAtOnce}, Order: query.Order}
	for reads := 1; ; reads++ {
		pets, err := p.Service.ListPetViews(x.r.Context(), x.caller(), list)
		if err != nil {
			return err
		}
		page.Rows, page.More = append(page.Rows, x.petRows(pets.Items)...), pets.More
		if !pets.More || len(page.Rows) == maxPrintedRows || reads == maxPrintedReads {
			break
		}
		next := nextPosition(pets)
		list.After, list.AfterKey = &next.ID, next.Key
		list.Limit = min(printedAtOnce, maxPrintedRows-len(page.Rows))
	}
	if filter.CategoryID != nil {
		names, err := p.Service.CategoriesByID(x.r.Context(), []int64{*filter.CategoryID})
		if err != nil {
			return err
		}
		page.Category = categoryName(names[*filter.CategoryID], *filter.CategoryID)
	}
	page.Filters = query.chips(page.Category)
	return x.show(http.StatusOK, "print-pets", "Animals", page)
}

// printedOrders is the template data for a list of orders on paper.
type printedOrders struct {
	Query orderQuery
	Rows  []printedOrder
	More  bool      // whether more orders match than the list shows
	Day   shop.Date // the day whose hand-overs the list has; zero if it has the orders that match the filters
}

// HandsOver reports whether the animals in the list are waiting to be handed over.
func (o printedOrders) HandsOver() bool {
	return o.Day != shop.Date{} || o.Query.Status == string(shop.Approved)
}

// Back returns the path of the page that leads to the list.
func (o printedOrders) Back() string {
	if o.Day != (shop.Date{}) {
		return "/"
	}
	return o.Query.Path()
}

// printedOrder is an order on paper, with the name of its animal's category.
type printedOrder struct {
	shop.OrderView
	Category string // "" if the animal was removed
}

// Title returns the heading of the list. The approved orders are those whose animals are waiting to be handed over.
func (o printedOrders) Title() string {
	switch {
	case o.Day != shop.Date{}:
		return "To hand over on " + o.Day.UTC().Format("Monday, 2 January 2006")
	case o.Query.Status == "" || o.Query.Problem != "":
		return "Orders"
	case o.Query.Status == string(shop.Approved):
		return "To hand over"
	}
	return "Orders: " + orderStatusName(shop.OrderStatus(o.Query.Status))
}

// printOrders shows the orders that match the filters of the list, for printing.
func (p *Pages) printOrders(x *exchange) error {
	if err := x.acquirePrint(); err != nil {
		return err
	}
	query, list := parseOrderQuery(x.r.URL.Query())
	list.Limit, list.Customers = maxPrintedRows, x.May(shop.Customers)
	page := printedOrders{Query: query}
	var orders []shop.OrderView
	for reads := 1; ; reads++ {
		found, err := p.Service.ListOrderViews(x.r.Context(), x.caller(), list)
		if err != nil {
			return err
		}
		orders, page.More = append(orders, found.Items...), found.More
		if !found.More || len(orders) == maxPrintedRows || reads == maxPrintedReads {
			break
		}
		list.After = new(found.Next(func(v shop.OrderView) int64 { return v.ID }))
		list.Limit = maxPrintedRows - len(orders)
	}
	var err error
	if page.Rows, err = x.withCategories(orders); err != nil {
		return err
	}
	return x.show(http.StatusOK, "print-orders", page.Title(), page)
}

// printHandOvers shows the open orders whose animals will be picked up on a day, for printing.
func (p *Pages) printHandOvers(x *exchange) error {
	if err := x.acquirePrint(); err != nil {
		return err
	}
	page := printedOrders{Day: p.Service.Today()}
	if text := x.r.URL.Query().Get("day"); text != "" {
		day, err := shop.ParseDate(text)
		if err != nil {
			return shop.Errorf(shop.InvalidParameter, "The day %s.", shop.DateProblem(text))
		}
		page.Day = day
	}
	orders, err := p.Service.HandOvers(x.r.Context(), x.caller(), page.Day, maxPrintedRows)
	if err != nil {
		return err
	}
	page.More = orders.More
	if page.Rows, err = x.withCategories(orders.Items); err != nil {
		return err
	}
	return x.show(http.StatusOK, "print-orders", page.Title(), page)
}

// withCategories adds the names of the animals' categories to orders.
func (x *exchange) withCategories(orders []shop.OrderView) ([]printedOrder, error) {
	var ids []int64
	for _, order := range orders {
		if order.Pet != nil {
			ids = append(ids, order.Pet.CategoryID)
		}
	}
	names, err := x.Service.CategoriesByID(x.r.Context(), ids)
	rows := make([]printedOrder, len(orders))
	for i, order := range orders {
		rows[i].OrderView = order
		if order.Pet != nil {
			rows[i].Category = categoryName(names[order.Pet.CategoryID], order.Pet.CategoryID)
		}
	}
	return rows, err
}

// printOrder shows one order as a receipt.
func (p *Pages) printOrder(x *exchange, id int64) error {
	page, err := x.loadOrder(id)
	if err != nil {
		return err
	}
	orders, err := x.withCategories(page.Items)
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, "print-order", "Receipt", orders[0])
}

// Printed returns the path of the page for printing the catalogue with these filters.
func (q petQuery) Printed() string {
	path, _ := url.Parse(q.Path()) // cannot fail, because Path encodes the filters
	return "/staff/pets/print?" + path.RawQuery
}
