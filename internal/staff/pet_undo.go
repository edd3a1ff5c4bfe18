package staff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// petChange is an animal before and after a change. If the animal was removed, after is zero.
type petChange struct{ before, after shop.Pet }

// undoRemoval is the value of the form field "pet-ID" for an animal that was removed.
const undoRemoval = "removed"

// undoOfPets returns the request that undoes changes of animals. It returns nil if nothing has changed or if none of
// the changes can be undone. For each animal, the form contains its new entity tag and the former values of the fields
// that have changed.
func undoOfPets(changes ...petChange) *undo {
	u, possible := &undo{"/staff/pets/undo", map[string]string{}}, false
	for _, c := range changes {
		id := strconv.FormatInt(c.before.ID, 10)
		if c.after == (shop.Pet{}) {
			u.Values["pet-"+id], possible = undoRemoval, true
			continue
		}
		if c.before == c.after {
			continue
		}
		u.Values["pet-"+id] = c.after.ETag()
		if c.before.Name != c.after.Name {
			u.Values["name-"+id] = c.before.Name
		}
		if c.before.CategoryID != c.after.CategoryID {
			u.Values["category-"+id] = strconv.FormatInt(c.before.CategoryID, 10)
		}
		if c.before.Status != c.after.Status {
			u.Values["status-"+id] = string(c.before.Status)
		}
		possible = possible || noWayBack(c.before.Status, c.after.Status) == ""
	}
	if !possible {
		return nil
	}
	return u
}

// undoPets gives animals the values that they had before a change, and brings removed animals back. It skips animals
// that someone has changed since, and animals that cannot be given their former status again. If there are several, the
// result says how many were skipped.
func (p *Pages) undoPets(x *exchange) error {
	var ids []int64
	for name := range x.r.PostForm {
		if text, found := strings.CutPrefix(name, "pet-"); found {
			id, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return errUnreadableForm()
			}
			ids = append(ids, id)
		}
	}
	switch {
	case len(ids) == 0 || len(ids) > maxBulk:
		return errUnreadableForm()
	case len(ids) == 1:
		pet, outcome, err := x.undoPet(ids[0])
		if err == nil {
			x.flashAbout(petTopic(pet.ID), nil, "%s %s.", pet.Name, outcome.one)
		}
		return x.finishInPlace(undoError(err, pet.Name), petPath(ids[0]), petTopic(ids[0]))
	}
	slices.Sort(ids)
	result, failed := bulkResult{Back: x.backOr("/staff/pets")}, map[int64]error{}
	for _, id := range ids {
		_, outcome, err := x.undoPet(id)
		result.undone = outcome
		if err != nil {
			failed[id] = err
		} else {
			result.Changed++
		}
		x.trigger(petTopic(id), "") // the page reloads the rows that it still shows
	}
	if err := x.describePets(&result, ids, failed); err != nil {
		return err
	}
	result.Rows, result.Removed = nil, nil
	return x.showBulkResult(result)
}

// undoAddedPet removes an animal that was just added, unless anything has happened to it since.
func (p *Pages) undoAddedPet(x *exchange, id int64) error {
	err := onceOnly(x, func(by shop.Caller) error { return p.Service.UndoCreatePet(x.r.Context(), by, id) })
	if err == nil {
		x.flashAbout(petTopic(id), nil, "Animal %d was removed again.", id)
	}
	return x.finishInPlace(undoError(err, fmt.Sprint("animal ", id)), "/staff/pets", petTopic(id))
}

// undoOutcome says in words what Undo has done, for one animal and for several.
type undoOutcome struct{ one, many string }

var (
	setBack  = undoOutcome{"is as before", "are as before"}
	restored = undoOutcome{"was restored", "were restored"}
)

// undoPet undoes the change of one animal. It returns the animal as it is now, even if it fails with
// precondition_failed because someone has changed the animal since.
func (x *exchange) undoPet(id int64) (pet shop.Pet, outcome undoOutcome, err error) {
	was := func(field string) (string, bool) {
		name := field + "-" + strconv.FormatInt(id, 10)
		return x.field(name), x.r.PostForm.Has(name)
	}
	etag, _ := was("pet")
	if etag == undoRemoval {
		pet, err = x.undoOnce(id, func(by shop.Caller) (shop.Pet, error) { return x.Service.RestorePet(x.r.Context(), by, id) })
		return pet, restored, err
	}
	var change shop.PetChange
	if name, ok := was("name"); ok {
		change.Name = &name
	}
	if text, ok := was("category"); ok {
		category, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return shop.Pet{}, setBack, errUnreadableForm()
		}
		change.CategoryID = &category
	}
	if status, ok := was("status"); ok {
		change.Status = new(shop.Status(status))
	}
	var now shop.Pet
	pet, err = x.undoOnce(id, func(by shop.Caller) (shop.Pet, error) {
		return x.Service.UpdatePet(x.r.Context(), by, id, change, func(current shop.Pet) bool {
			now = current
			return current.ETag() == etag
		})
	})
	if err == nil {
		return pet, setBack, nil
	}
	if change.Status != nil && shop.AsError(err).Code == shop.InvalidTransition {
		err = shop.Errorf(shop.InvalidTransition, "%s.", x.word(noWayBack(*change.Status, now.Status)))
	}
	return now, setBack, err
}

// undoOnce undoes the change of one of several animals once.
func (x *exchange) undoOnce(id int64, write func(shop.Caller) (shop.Pet, error)) (shop.Pet, error) {
	return onceKeeping(x, strconv.FormatInt(id, 10), func(pet shop.Pet) shop.Pet { return pet }, write)
}

// describeUndo describes the outcome of Undo in sentences, without a full stop at the end.
func (r bulkResult) describeUndo() string {
	verb := func(n int, one, many string) string {
		return count(n, "animal") + " " + map[bool]string{true: one, false: many}[n == 1]
	}
	parts := []string{verb(r.Changed, r.undone.one, r.undone.many)}
	if n := len(r.Conflicts); n > 0 {
		them := map[bool]string{true: "it", false: "them"}[n == 1]
		parts = append(parts, fmt.Sprintf("%s, because someone has changed %s in the meantime", verb(n, "stays as it is", "stay as they are"), them))
	}
	if n := len(r.Refused); n > 0 {
		parts = append(parts, verb(n, "can’t be set back", "can’t be set back"))
	}
	return strings.Join(parts, ". ")
}
