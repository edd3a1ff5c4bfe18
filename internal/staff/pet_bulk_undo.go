package staff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// bulkUndo is the form that undoes a bulk action. It contains the action and, for each changed animal, its new token
// and its former value. It is part of the response, because it is too long for a header or a cookie.
type bulkUndo struct {
	Do       string // "remove", "category" or "status"
	Pets     []bulkUndoPet
	Possible bool // whether the action can be undone for at least one of the animals
}

// bulkUndoPet is an animal in a bulkUndo.
type bulkUndoPet struct {
	ID    int64
	Token string
	Was   string // the former status or category
}

// add records that an animal was changed.
func (u *bulkUndo) add(before, after shop.Pet) {
	was := string(before.Status)
	if u.Do == "category" {
		was = strconv.FormatInt(before.CategoryID, 10)
	}
	u.Pets = append(u.Pets, bulkUndoPet{after.ID, petToken(after), was})
	u.Possible = u.Possible || noWayBack(before.Status, after.Status) == ""
}

// undoPets undoes a bulk action. It skips animals that someone has changed since, and animals that cannot be given
// their former status again. The result says how many were skipped.
func (p *Pages) undoPets(x *exchange) error {
	if !slices.Contains([]string{"remove", "category", "status"}, x.field("do")) {
		return errUnreadableForm()
	}
	ids, tokens, err := x.selectedPets()
	if err != nil {
		return err
	}
	result := bulkResult{Back: x.backOr("/staff/pets"), undoes: x.field("do")}
	failed := map[int64]error{}
	for _, id := range ids {
		if err := x.undoPet(id, tokens[id], x.field("was-"+strconv.FormatInt(id, 10))); err != nil {
			failed[id] = err
		} else {
			result.Changed++
		}
	}
	if err := x.describePets(&result, ids, failed); err != nil {
		return err
	}
	for _, id := range ids { // the page reloads the rows that it still shows
		x.trigger(petTopic(id), "")
	}
	result.Rows, result.Removed = nil, nil
	return x.showBulkResult(result)
}

// undoPet undoes a bulk action for one animal. The parameter was is the animal's former status or category.
func (x *exchange) undoPet(id int64, token, was string) error {
	var change shop.PetChange
	switch x.field("do") {
	case "remove":
		_, err := x.Service.RestorePet(x.context(), id)
		return err
	case "category":
		category, err := strconv.ParseInt(was, 10, 64)
		if err != nil {
			return errUnreadableForm()
		}
		change.CategoryID = &category
	default:
		change.Status = new(shop.Status(was))
	}
	var now shop.Status
	_, err := x.Service.UpdatePet(x.context(), id, change, func(pet shop.Pet) bool {
		now = pet.Status
		return petToken(pet) == token
	})
	if err != nil && shop.AsError(err).Code == shop.InvalidTransition {
		err = shop.Errorf(shop.InvalidTransition, "%s.", noWayBack(*change.Status, now))
	}
	return err
}

// undone describes the outcome of Undo in sentences, without a full stop at the end.
func (r bulkResult) undone() string {
	one, many := "is as before", "are as before"
	if r.undoes == "remove" {
		one, many = "was restored", "were restored"
	}
	verb := func(n int, one, many string) string {
		return count(n, "animal") + " " + map[bool]string{true: one, false: many}[n == 1]
	}
	parts := []string{verb(r.Changed, one, many)}
	if n := len(r.Conflicts); n > 0 {
		them := map[bool]string{true: "it", false: "them"}[n == 1]
		parts = append(parts, fmt.Sprintf("%s, because someone has changed %s in the meantime", verb(n, "stays as it is", "stay as they are"), them))
	}
	if n := len(r.Refused); n > 0 {
		parts = append(parts, verb(n, "can’t be set back", "can’t be set back"))
	}
	return strings.Join(parts, ". ")
}
