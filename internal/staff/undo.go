package staff

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"animalstore/internal/shop"
)

// undo is the request of an Undo button: the path and the form fields.
type undo struct {
	Path   string
	Values map[string]string
}

// undoPath matches the paths to which the Undo button of a message may send its form. A message comes from a cookie,
// which an attacker could plant, so the button must not be able to send a form to any other path.
var undoPath = regexp.MustCompile(`^/staff/(pets/undo|pets/-?\d+/(undo|profile/[a-z]+|photos/(undo|\d+))|orders/-?\d+(/undo|/hold)?|categories/-?\d+/undo|settings/undo)$`)

// undoError explains a conflict while something was being undone. The parameter what names the resource.
func undoError(err error, what string) error {
	return explainConflict(err, "Someone has changed %s in the meantime, so nothing was undone.", what)
}

// petTopic and orderTopic return the names of the browser events that make the page reload an animal or an order. A message
// about an animal, an order or a category has that name, too.
func petTopic(id int64) string   { return "pet-" + strconv.FormatInt(id, 10) }
func orderTopic(id int64) string { return "order-" + strconv.FormatInt(id, 10) }

func categoryTopic(id int64) string { return "category-" + strconv.FormatInt(id, 10) }

// savedChange is kept of a change that was saved, beside the answers to the forms of the same key and for as long. The values
// of the form that takes the change back may be too long for a message, or nothing that a cookie should contain.
type savedChange struct {
	Text string
	Undo map[string]string `json:",omitempty"` // nil if nothing has changed
}

// saveUndoably performs a write once and keeps what describe says of its result. The message that it returns has an Undo button
// at the given path, which sends the id of what was kept.
func saveUndoably[T any](x *exchange, path string, describe func(T) savedChange, write func(shop.Caller) (T, error)) (savedChange, *undo, error) {
	if x.formID() == "" { // without scripts, a form has an id only if sending it twice would do harm
		x.r.Header.Set(formHeader, rand.Text())
	}
	saved, err := onceKeeping(x, "", describe, write)
	if err != nil || saved.Undo == nil {
		return saved, nil, err
	}
	return saved, &undo{path, map[string]string{undoField: x.formID()}}, nil
}

// undoField is the form field with the id of what saveUndoably has kept.
const undoField = "undo"

// loadUndo replaces the fields of the form by those that saveUndoably has kept for it.
func (x *exchange) loadUndo() error {
	kept, found, err := x.Service.FindStoredResponse(x.r.Context(), x.request(x.field(undoField), ""))
	if err != nil {
		return err
	}
	var saved savedChange
	if !found || json.Unmarshal(kept.Body, &saved) != nil || saved.Undo == nil {
		return shop.Errorf(shop.UndoNotPossible, "Only a change of the last 24 hours can be undone.")
	}
	for name, value := range saved.Undo {
		x.r.PostForm.Set(name, value)
	}
	return nil
}

// finishInPlace responds after a change, or after an attempt that failed with err. With scripts, the page stays open
// and reloads the elements with the given topics. Without scripts, the browser goes back to the page that contained the
// form. If that page is not known, the browser goes to the path in the parameter otherwise.
func (x *exchange) finishInPlace(err error, otherwise string, topics ...string) error {
	if err := x.flashError(err); err != nil {
		return err
	}
	if x.partial() {
		for _, topic := range topics {
			x.trigger(topic, "")
		}
		x.w.Header().Set("HX-Reswap", "none")
		return x.send(http.StatusOK, "text/html; charset=utf-8", nil)
	}
	return x.redirect(x.backOr(otherwise))
}

// restorePet brings a removed animal back.
func (p *Pages) restorePet(x *exchange, id int64) error {
	pet, err := once(x, func(by shop.Caller) (shop.Pet, error) { return p.Service.RestorePet(x.r.Context(), by, id) })
	if err == nil {
		x.flashAbout(petTopic(id), nil, "%s was restored.", pet.Name)
	}
	return x.finishInPlace(err, petPath(id), petTopic(id), "pets-removed")
}

// removedPet returns a removed animal as it was before its removal. It fails with not_found if the user may neither
// read events nor restore the animal, because such a user may not see removed animals.
func (x *exchange) removedPet(id int64) (shop.Pet, error) {
	if !x.May(shop.EventsRead) && !x.May(shop.PetsWrite) {
		return shop.Pet{}, shop.Errorf(shop.NotFound, "There is no animal %d.", id)
	}
	pet, err := x.Service.RemovedPet(x.r.Context(), id)
	if isNotFound(err) {
		err = shop.Errorf(shop.NotFound, "There is no animal %d.", id)
	}
	return pet, err
}

// removedPetView is like removedPet, but also loads the category.
func (x *exchange) removedPetView(id int64) (shop.PetView, error) {
	pet, err := x.removedPet(id)
	if err != nil {
		return shop.PetView{}, err
	}
	categories, err := x.Service.CategoriesByID(x.r.Context(), []int64{pet.CategoryID})
	return shop.PetView{Pet: pet, Category: categories[pet.CategoryID]}, err
}

// undoOfOrderStep returns the request that undoes the last step of an order.
func undoOfOrderStep(order shop.Order) *undo {
	return &undo{orderPath(order.ID) + "/undo", map[string]string{"was": string(order.Status)}}
}

// undoOrderStep undoes the last step of an order, unless the order has changed since. It cancels an order that has
// only been placed.
func (p *Pages) undoOrderStep(x *exchange, id int64) error {
	was := shop.OrderStatus(x.field("was"))
	match := func(now shop.Order) bool { return now.Status == was }
	var order shop.Order
	var err error
	if was == shop.Placed {
		if order, err = x.updateOrder(id, shop.OrderChange{Status: new(shop.Cancelled)}, match); err == nil {
			x.flashAbout(orderTopic(id), nil, "Order %d was cancelled.", id)
		}
	} else if order, err = once(x, func(by shop.Caller) (shop.Order, error) {
		return p.Service.UndoOrder(x.r.Context(), by, id, match)
	}); err == nil {
		x.flashAbout(orderTopic(id), nil, "Order %d is %s again.", id, orderStatusName(order.Status))
	}
	return x.finishInPlace(undoError(err, fmt.Sprint("order ", id)), "/staff/orders", orderTopic(id), petTopic(order.PetID), "orders-placed")
}
