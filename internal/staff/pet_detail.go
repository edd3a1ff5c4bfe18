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

// animal is what the page of one animal shows.
type animal struct {
	shop.PetView
	Category string
	Orders   []shop.OrderView
	More     bool // there are older orders
	Now      time.Time
	History  []step
	Earlier  int64 // the oldest step that is shown, where there are older ones; 0: none
}

// step is one change of an animal, as people tell it.
type step struct {
	At      time.Time
	Who     string
	What    string
	Changes []difference
}

// difference is one thing that has changed, from what to what.
type difference struct{ Name, From, To string }

// historyLength is how many steps of a history are shown at a time, and ordersOfOne how many orders of an animal.
const (
	historyLength = 50
	ordersOfOne   = 20
)

func (p *Pages) pet(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	made, err := v.animal(id)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "pet-detail", made.Name, made)
}

// showAnimal answers with the part of its page that is about the animal, after it has changed.
func (v *visit) showAnimal(id int64) error {
	made, err := v.animal(id)
	if err != nil {
		return err
	}
	return v.showPart("animal", made)
}

func (v *visit) animal(id int64) (animal, error) {
	ctx := v.r.Context()
	listing, err := v.Service.PetView(ctx, id)
	if err != nil {
		return animal{}, err
	}
	made := animal{PetView: listing, Category: categoryName(listing.Category, listing.CategoryID)}
	if v.May(shop.OrdersRead) {
		page, err := v.Service.ListOrderViews(ctx, shop.OrderList{PetID: &id, PageRequest: shop.PageRequest{Limit: ordersOfOne}})
		if err != nil {
			return animal{}, err
		}
		made.Orders, made.More, made.Now = page.Items, page.More, page.Now
	}
	if v.May(shop.EventsRead) {
		if err := v.history(&made); err != nil {
			return animal{}, err
		}
	}
	return made, nil
}

// history tells the life of an animal, the newest step first.
func (v *visit) history(made *animal) error {
	window := shop.PageRequest{Limit: historyLength}
	if before, err := strconv.ParseInt(v.r.URL.Query().Get("before"), 10, 64); err == nil {
		window.After = &before
	}
	page, err := v.Service.History(v.r.Context(), made.ID, window)
	if err != nil {
		return err
	}
	var actors []string
	for _, event := range page.Items {
		actors = append(actors, event.Actor)
	}
	slices.Sort(actors)
	names, err := v.Service.KeyNames(v.r.Context(), slices.Compact(actors))
	if err != nil {
		return err
	}
	for _, event := range page.Items {
		made.History = append(made.History, stepOf(event, names))
	}
	if err := v.nameCategories(made.History); err != nil {
		return err
	}
	if page.More {
		made.Earlier = page.Items[len(page.Items)-1].Position()
	}
	return nil
}

// nameCategories puts the names of categories in the place of their numbers, as far as they have one today.
func (v *visit) nameCategories(history []step) error {
	var ids []int64
	each := func(do func(text *string, id int64)) {
		for _, step := range history {
			for i, change := range step.Changes {
				for _, text := range []*string{&step.Changes[i].From, &step.Changes[i].To} {
					if id, err := strconv.ParseInt(*text, 10, 64); err == nil && change.Name == "category" {
						do(text, id)
					}
				}
			}
		}
	}
	each(func(_ *string, id int64) { ids = append(ids, id) })
	names, err := v.Service.CategoriesByID(v.r.Context(), ids)
	each(func(text *string, id int64) { *text = categoryName(names[id], id) })
	return err
}

// stepOf tells one event of an animal.
func stepOf(event shop.Event, names map[string]string) step {
	var data struct{ Current, Previous *shop.Pet }
	if err := json.Unmarshal(event.Data, &data); err != nil { // written by ourselves
		return step{At: event.Time, Who: whoIs(event.Actor, names), What: string(event.Type)}
	}
	what := map[shop.EventType]string{shop.PetCreated: "added", shop.PetUpdated: "changed", shop.PetDeleted: "removed"}[event.Type]
	made := step{At: event.Time, Who: whoIs(event.Actor, names), What: what}
	before, after := shop.Pet{}, shop.Pet{}
	if data.Previous != nil {
		before = *data.Previous
	}
	if data.Current != nil {
		after = *data.Current
	}
	add := func(name, from, to string, differs bool) {
		if differs {
			made.Changes = append(made.Changes, difference{name, from, to})
		}
	}
	add("name", before.Name, after.Name, before.Name != after.Name)
	categories := [2]string{}
	for i, pet := range []*shop.Pet{data.Previous, data.Current} {
		if pet != nil {
			categories[i] = strconv.FormatInt(pet.CategoryID, 10)
		}
	}
	add("category", categories[0], categories[1], categories[0] != categories[1])
	add("status", string(before.Status), string(after.Status), before.Status != after.Status)
	return made
}

// whoIs names who has done something.
func whoIs(actor string, names map[string]string) string {
	if name := names[actor]; name != "" {
		return name
	}
	switch id, isKey := strings.CutPrefix(actor, "keys/"); {
	case isKey:
		return fmt.Sprintf("key %s, since revoked", id)
	case actor == "system":
		return "the shop itself"
	case actor == "configured":
		return "the configured key"
	}
	return actor
}
