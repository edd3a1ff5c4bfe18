package staff

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// petDetail is the template data for the page about one animal.
type petDetail struct {
	shop.PetView
	Removed    bool // whether the animal was removed; the page shows it as it was
	Category   string
	Orders     []shop.OrderView
	MoreOrders bool // whether there are older orders that are not shown
	Now        time.Time
	History    []historyEntry
	OlderFrom  int64 // the position of the oldest entry shown if there are older entries, else 0
}

// historyEntry describes one change to an animal in readable form.
type historyEntry struct {
	At      time.Time
	Actor   string
	Action  string
	Changes []fieldChange
}

// fieldChange is the old and the new value of a field that has changed.
type fieldChange struct{ Field, From, To string }

const (
	// historyPageSize and maxPetOrders are the maximum numbers of history entries and orders on an animal's
	// page.
	historyPageSize = 50
	maxPetOrders    = 20
)

func (p *Pages) pet(x *exchange) error {
	id, err := x.pathID()
	if err != nil {
		return err
	}
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
	removed := err != nil && shop.AsError(err).Code == shop.NotFound
	if removed {
		pet, err = x.removedPetView(id)
	}
	if err != nil {
		return petDetail{}, err
	}
	page := petDetail{PetView: pet, Removed: removed, Category: categoryName(pet.Category, pet.CategoryID)}
	if x.May(shop.OrdersRead) {
		orders, err := x.Service.ListOrderViews(ctx, shop.OrderList{PetID: &id, PageRequest: shop.PageRequest{Limit: maxPetOrders}})
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

// loadHistory adds the animal's history to the page, newest entry first.
func (x *exchange) loadHistory(page *petDetail) error {
	request := shop.PageRequest{Limit: historyPageSize}
	if before, err := strconv.ParseInt(x.r.URL.Query().Get("before"), 10, 64); err == nil {
		request.After = &before
	}
	events, err := x.Service.History(x.r.Context(), page.ID, request)
	if err != nil {
		return err
	}
	var actors []string
	for _, event := range events.Items {
		actors = append(actors, event.Actor)
	}
	slices.Sort(actors)
	names, err := x.Service.KeyNames(x.r.Context(), slices.Compact(actors))
	if err != nil {
		return err
	}
	for _, event := range events.Items {
		page.History = append(page.History, newHistoryEntry(event, names))
	}
	if err := x.nameCategories(page.History); err != nil {
		return err
	}
	if events.More {
		page.OlderFrom = events.Items[len(events.Items)-1].Position()
	}
	return nil
}

// nameCategories replaces the category ids in a history with the current names of the categories.
func (x *exchange) nameCategories(history []historyEntry) error {
	var ids []int64
	each := func(do func(text *string, id int64)) {
		for _, step := range history {
			for i, change := range step.Changes {
				for _, text := range []*string{&step.Changes[i].From, &step.Changes[i].To} {
					if id, err := strconv.ParseInt(*text, 10, 64); err == nil && change.Field == "category" {
						do(text, id)
					}
				}
			}
		}
	}
	each(func(_ *string, id int64) { ids = append(ids, id) })
	names, err := x.Service.CategoriesByID(x.r.Context(), ids)
	each(func(text *string, id int64) { *text = categoryName(names[id], id) })
	return err
}

// newHistoryEntry describes one event about an animal.
func newHistoryEntry(event shop.Event, names map[string]string) historyEntry {
	var data struct{ Current, Previous *shop.Pet }
	if err := json.Unmarshal(event.Data, &data); err != nil { // cannot happen, because the service itself wrote the data
		return historyEntry{At: event.Time, Actor: actorName(event.Actor, names), Action: string(event.Type)}
	}
	action := map[shop.EventType]string{shop.PetCreated: "added", shop.PetUpdated: "changed", shop.PetDeleted: "removed", shop.PetRestored: "restored"}[event.Type]
	entry := historyEntry{At: event.Time, Actor: actorName(event.Actor, names), Action: action}
	entry.Changes = changedFields(fieldTexts(data.Previous), fieldTexts(data.Current))
	return entry
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

// fieldTexts returns an animal's name, category and status as texts. It returns empty texts if pet is nil.
func fieldTexts(pet *shop.Pet) (texts [3]string) {
	if pet != nil {
		texts = [3]string{pet.Name, strconv.FormatInt(pet.CategoryID, 10), string(pet.Status)}
	}
	return texts
}

// actorName returns a readable name for the person or program that caused an event.
func actorName(actor string, names map[string]string) string {
	if name := names[actor]; name != "" {
		return name
	}
	switch id, isKey := strings.CutPrefix(actor, "keys/"); {
	case isKey:
		return fmt.Sprintf("Key %s (revoked)", id)
	case actor == "system":
		return "System"
	case actor == "configured":
		return "Configured key"
	}
	return actor
}
