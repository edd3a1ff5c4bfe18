package staff

import (
	"net/http"
	"strconv"
	"time"

	"animalstore/internal/shop"
)

// petDetail is the template data for the page about one animal.
type petDetail struct {
	shop.PetView
	Removed    bool // whether the animal was removed; the page then shows its last state
	Category   string
	Orders     []shop.OrderView
	MoreOrders bool // whether there are older orders that are not shown
	Now        time.Time
	History    []activityEntry
	OlderFrom  int64 // the position of the oldest entry shown if there are older entries, else 0
	Today      shop.Date

	SavedSection string // the name of the section of the profile that was just saved, or ""
}

// ReserveForm returns the form that reserves the animal.
func (d petDetail) ReserveForm() orderForm { return newReserveForm(d.PetView) }

// fieldChange is the old and the new value of a field that has changed.
type fieldChange struct{ Field, From, To string }

const (
	// historyPageSize and maxPetOrders are the maximum numbers of history entries and orders on an animal's
	// page.
	historyPageSize = 50
	maxPetOrders    = 20
)

func (p *Pages) pet(x *exchange, id int64) error {
	page, err := x.loadPetDetail(id)
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, "pet-detail", page.Name, page)
}

// showPetDetail responds with an updated fragment about an animal after a change.
func (x *exchange) showPetDetail(id int64) error {
	page, err := x.loadPetDetail(id)
	if err != nil {
		return err
	}
	return x.showFragment("pet-detail", page)
}

func (x *exchange) loadPetDetail(id int64) (petDetail, error) {
	ctx := x.r.Context()
	pet, err := x.Service.PetView(ctx, id)
	removed := isNotFound(err)
	if removed {
		pet, err = x.removedPetView(id)
	}
	if err != nil {
		return petDetail{}, err
	}
	pet.Profile = pet.Profile.ForKey(x.May(shop.PetsWrite))
	page := petDetail{PetView: pet, Removed: removed, Category: categoryName(pet.Category, pet.CategoryID), Today: x.Service.Today()}
	if x.May(shop.OrdersRead) {
		orders, err := x.Service.ListOrderViews(ctx, x.caller(), shop.OrderList{PetID: &id, PageRequest: shop.PageRequest{Limit: maxPetOrders}})
		if err != nil {
			return petDetail{}, err
		}
		page.Orders, page.MoreOrders, page.Now = orders.Items, orders.More, orders.Now
	}
	if x.May(shop.EventsRead) {
		if err := x.loadHistory(&page); err != nil {
			return petDetail{}, err
		}
	}
	return page, nil
}

// loadHistory adds the animal's history and that of its orders to the page, newest entry first.
func (x *exchange) loadHistory(page *petDetail) error {
	request := shop.PageRequest{Limit: historyPageSize}
	if before, err := strconv.ParseInt(x.r.URL.Query().Get("before"), 10, 64); err == nil {
		request.After = &before
	}
	entries, more, next, err := x.readActivity(x.r.Context(), shop.ActivityFilter{PetID: &page.ID}, request)
	page.History = entries
	if more {
		page.OlderFrom = next
	}
	return err
}

// changedFields compares the name, the category and the status of an animal before and after a change.
func changedFields(before, after [3]string) (changes []fieldChange) {
	for i, field := range [...]string{"name", "category", "status"} {
		if before[i] != after[i] {
			changes = append(changes, fieldChange{field, before[i], after[i]})
		}
	}
	return changes
}
