package staff

import (
	"slices"
	"strconv"

	"animalstore/internal/shop"
)

// petPath returns the path of an animal's page.
func petPath(id int64) string { return "/staff/pets/" + strconv.FormatInt(id, 10) }

// windowPath returns the path of an animal's page in the shop window.
func windowPath(id int64) string { return "/window/pets/" + strconv.FormatInt(id, 10) }

func (p *Pages) petRow(x *exchange, id int64) error { return x.showPetRow(id) }

// showPetRow responds with the animal's current table row, or with a row that says that the animal was removed and
// offers to restore it.
func (x *exchange) showPetRow(id int64) error {
	pet, err := x.Service.PetView(x.r.Context(), id)
	if err != nil {
		if !isNotFound(err) {
			return err
		}
		removed, err := x.removedPet(id)
		if err != nil && !isNotFound(err) {
			return err
		}
		removed.ID = id // the row shows the id even if the user may not see the removed animal
		return x.showFragment("pet-removed", removed)
	}
	return x.showFragment("pet-row", x.petRows([]shop.PetView{pet})[0])
}

// showChangedPet responds after a change, or after an attempt that failed with err, with the animal's table row or its
// page. Without scripts, the browser goes back to the page from which the form was sent, or shows the error.
func (x *exchange) showChangedPet(id int64, err error) error {
	if err != nil && !x.partial() {
		return err
	}
	if err := x.flashError(err); err != nil {
		return err
	}
	if x.partial() && x.r.Header.Get("HX-Target") != "pet-detail" {
		return x.showPetRow(id)
	}
	if x.partial() {
		return x.showPetDetail(id)
	}
	return x.redirect(x.backOr(petPath(id)))
}

// setPetStatus changes the status of an animal, unless the status has changed since the page was shown.
func (p *Pages) setPetStatus(x *exchange, id int64) error {
	was, to := shop.Status(x.field("was")), shop.Status(x.field("to"))
	if reason := noWayBack(was, to); reason != "" && slices.Contains(was.Transitions(), to) && !x.confirmed() {
		return x.askAboutPet(id, to, reason)
	}
	pet, err := once(x, func(by shop.Caller) (shop.Pet, error) {
		return p.Service.UpdatePet(x.r.Context(), by, id, shop.PetChange{Status: &to}, func(now shop.Pet) bool { return now.Status == was })
	})
	if err == nil {
		before := pet
		before.Status = was
		x.flashAbout(petTopic(id), undoOfPets(petChange{before, pet}), "%s is now %s.", pet.Name, p.statusWord(pet.Status))
	}
	err = explainConflict(err, "Someone else has changed its status in the meantime, so nothing was saved. Check it and try again.")
	return x.showChangedPet(id, err)
}

// askAboutPet asks the user to confirm a change of status that cannot be undone for the given reason.
func (x *exchange) askAboutPet(id int64, to shop.Status, reason string) error {
	pet, err := x.Service.Pet(x.r.Context(), id, nil)
	if err != nil {
		return err
	}
	return x.ask(question{
		Title: "Mark " + pet.Name + " as " + x.statusWord(to) + "?", Text: "This can’t be undone: " + x.word(reason) + ".",
		Button: "Mark as " + x.statusWord(to), Back: x.backOr(petPath(id)),
	})
}

// deletePet removes an animal, unless it has changed since the page was shown. The animal's page remains and offers
// to restore it.
func (p *Pages) deletePet(x *exchange, id int64) error {
	original := x.originalPet(id)
	err := onceOnly(x, func(by shop.Caller) error {
		return p.Service.DeletePet(x.r.Context(), by, id, func(now shop.Pet) bool { return now == original })
	})
	if err == nil {
		x.flashAbout(petTopic(id), undoOfPets(petChange{original, shop.Pet{}}), "%s was removed.", original.Name)
	}
	err = explainConflict(err, "Someone else has changed %s in the meantime, so it was not removed. Check it and try again.", original.Name)
	return x.showChangedPet(id, err)
}
