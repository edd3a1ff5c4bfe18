package staff

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// maxBulk is the maximum number of animals that a bulk action handles.
const maxBulk = 100

// petToken returns the id and the entity tag of an animal as a token. A bulk action changes only animals that still
// have the same token as on the page.
func petToken(pet shop.Pet) string {
	return strconv.FormatInt(pet.ID, 10) + "-" + strings.Trim(pet.ETag(), `"`)
}

// bulkResult is the template data for the outcome of a bulk action.
type bulkResult struct {
	Back      string // the path of the list
	Changed   int
	Unchanged int // the number of animals that already had the wanted value
	Conflicts []bulkProblem
	Refused   []bulkProblem
	Rows      []petRow   // the animals after the action
	Removed   []shop.Pet // the removed animals; only the id is known if someone else removed the animal
	Undo      *undo      // nil if there is nothing to undo, or no way back
	removes   bool       // whether the action removes animals
	changes   []petChange
	undone    undoOutcome // zero if this is not the result of Undo
}

// bulkProblem says why one animal was not changed.
type bulkProblem struct {
	ID      int64
	Name    string // "" if the animal no longer exists
	Message string
}

// Summary returns the outcome in one line, such as "18 animals changed, 2 conflicts".
func (r bulkResult) Summary() string {
	if r.undone.one != "" {
		return r.describeUndo()
	}
	verb := "changed"
	if r.removes {
		verb = "removed"
	}
	parts := []string{count(r.Changed, "animal") + " " + verb}
	if r.Unchanged > 0 {
		parts = append(parts, fmt.Sprint(r.Unchanged, " unchanged"))
	}
	if n := len(r.Conflicts); n > 0 {
		parts = append(parts, count(n, "conflict"))
	}
	if n := len(r.Refused); n > 0 {
		parts = append(parts, fmt.Sprint(n, " not possible"))
	}
	return strings.Join(parts, ", ")
}

// Problems returns the animals that were not changed.
func (r bulkResult) Problems() []bulkProblem {
	return slices.Concat(r.Conflicts, r.Refused)
}

// selectedPets returns the ids of the selected animals in the order of the page, and their tokens by id. It fails
// with validation_failed if no animal or more than maxBulk animals are selected.
func (x *exchange) selectedPets() (ids []int64, tokens map[int64]string, err error) {
	tokens = map[int64]string{}
	for _, token := range x.r.PostForm["pet"] {
		id, ok := tokenID(token)
		if !ok {
			return nil, nil, errUnreadableForm()
		}
		if tokens[id] == "" {
			ids = append(ids, id)
		}
		tokens[id] = token
	}
	switch {
	case len(ids) == 0:
		err = shop.Errorf(shop.ValidationFailed, "Select at least one animal.")
	case len(ids) > maxBulk:
		err = shop.Errorf(shop.ValidationFailed, "Select at most %d animals.", maxBulk)
	}
	return ids, tokens, err
}

// tokenID returns the id in a token.
func tokenID(token string) (id int64, ok bool) {
	text, _, ok := strings.Cut(token, "-")
	id, err := strconv.ParseInt(text, 10, 64)
	return id, ok && err == nil
}

// changePets applies a bulk action to all selected animals: it gives them a status or a category, removes them or
// prints them. Each animal is handled on its own, and the result says which animals were not changed and why. If the
// action cannot be undone for some animals, the user is asked first.
func (p *Pages) changePets(x *exchange) error {
	ids, tokens, err := x.selectedPets()
	if err != nil {
		return err
	}
	result := bulkResult{Back: x.backOr("/staff/pets")}
	var change shop.PetChange
	switch action := x.field("do"); action {
	case "print":
		return x.redirect(petQuery{IDs: ids}.Printed() + "#print")
	case "remove":
		result.removes = true
	case "category":
		id, err := x.ensureCategory(x.readPetForm())
		if err != nil {
			return err
		}
		change.CategoryID = &id
	default:
		if reason := shop.StatusProblem(action); reason != "" {
			return errUnreadableForm()
		}
		change.Status = new(shop.Status(action))
		if asked, err := x.askAboutPets(ids, tokens, *change.Status); asked || err != nil {
			return err
		}
	}
	failed := map[int64]error{}
	for _, id := range ids {
		if err := x.changePet(id, tokens[id], change, &result); err != nil {
			failed[id] = err
		}
	}
	if err := x.describePets(&result, ids, failed); err != nil {
		return err
	}
	result.Undo = undoOfPets(result.changes...)
	return x.showBulkResult(result)
}

// changePet changes or removes one of the selected animals and adds the outcome to the result. It fails with
// precondition_failed if the animal has changed since the page was shown.
func (x *exchange) changePet(id int64, token string, change shop.PetChange, result *bulkResult) error {
	var before shop.Pet
	match := func(now shop.Pet) bool {
		before = now
		return petToken(now) == token
	}
	part := strconv.FormatInt(id, 10)
	if result.removes {
		removed, err := onceKeeping(x, part, func(struct{}) shop.Pet { return before }, func(by shop.Caller) (struct{}, error) {
			return struct{}{}, x.Service.DeletePet(x.r.Context(), by, id, match)
		})
		if err == nil {
			result.Changed++
			result.Removed = append(result.Removed, removed)
			result.changes = append(result.changes, petChange{removed, shop.Pet{}})
		}
		return err
	}
	updated := func(after shop.Pet) shop.PetUpdate { return shop.PetUpdate{Before: before, After: after} }
	update, err := onceKeeping(x, part, updated, func(by shop.Caller) (shop.Pet, error) {
		return x.Service.UpdatePet(x.r.Context(), by, id, change, match)
	})
	switch {
	case err != nil:
		return err
	case update.After == update.Before:
		result.Unchanged++
	default:
		result.Changed++
		result.changes = append(result.changes, petChange{update.Before, update.After})
	}
	return nil
}

// askAboutPets asks the user to confirm a change of status that cannot be undone for some of the selected animals.
// asked is false if there are no such animals, or if the user has already confirmed the change.
func (x *exchange) askAboutPets(ids []int64, tokens map[int64]string, to shop.Status) (asked bool, err error) {
	if x.confirmed() {
		return false, nil
	}
	pets, err := x.Service.ListPetViews(x.r.Context(), x.caller(), shop.ProfileList{
		ProfileFilter: shop.ProfileFilter{PetFilter: shop.PetFilter{IDs: ids}}, PageRequest: shop.PageRequest{Limit: len(ids)},
	})
	if err != nil {
		return false, err
	}
	n, reasons := 0, []string{}
	for _, pet := range pets.Items {
		reason := noWayBack(pet.Status, to)
		if reason == "" || petToken(pet.Pet) != tokens[pet.ID] || !slices.Contains(pet.Transitions(), to) {
			continue // the change can be undone, or will be refused, for example because an order holds the animal
		}
		n++
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	if n == 0 {
		return false, nil
	}
	text := "This can’t be undone"
	if n < len(ids) {
		text += fmt.Sprintf(" for %d of them", n)
	}
	return true, x.ask(question{
		Title: fmt.Sprintf("Mark %s as %s?", count(len(ids), "animal"), x.statusWord(to)), Text: text + ": " + x.word(strings.Join(reasons, ", and ")) + ".",
		Button: "Mark as " + x.statusWord(to), Back: x.backOr("/staff/pets"), Target: "bulk-result", Swap: "innerHTML",
	})
}

// describePets reads the animals after the action and adds them to the result. It sorts the failures into conflicts
// and changes that are not possible.
func (x *exchange) describePets(result *bulkResult, ids []int64, failed map[int64]error) error {
	pets, err := x.Service.ListPetViews(x.r.Context(), x.caller(), shop.ProfileList{
		ProfileFilter: shop.ProfileFilter{PetFilter: shop.PetFilter{IDs: ids}}, PageRequest: shop.PageRequest{Limit: len(ids)},
	})
	if err != nil {
		return err
	}
	result.Rows = x.petRows(pets.Items)
	names := map[int64]string{}
	for _, pet := range pets.Items {
		names[pet.ID] = pet.Name
	}
	for _, id := range ids {
		err := failed[id]
		if err == nil {
			continue
		}
		problem := bulkProblem{ID: id, Name: names[id]}
		switch shop.AsError(err).Code {
		case shop.PreconditionFailed:
			problem.Message = "Someone else has changed it in the meantime."
			result.Conflicts = append(result.Conflicts, problem)
		case shop.PetExists:
			problem.Message = "Someone else has restored it in the meantime."
			result.Conflicts = append(result.Conflicts, problem)
		case shop.NotFound:
			problem.Message = "Someone else has removed it in the meantime."
			result.Conflicts = append(result.Conflicts, problem)
			result.Removed = append(result.Removed, shop.Pet{ID: id})
		default:
			if errors.Is(err, shop.ErrFull) { // other animals may have been changed
				problem.Message = "The store is full, so this animal was not changed."
			} else if problem.Message = userMessage(err); problem.Message == "" {
				problem.Message = "The store did not respond; check the animal and try again."
			}
			result.Refused = append(result.Refused, problem)
		}
	}
	return nil
}

// showBulkResult responds with the outcome of a bulk action. If there are problems, the page lists them above the
// animals.
func (x *exchange) showBulkResult(result bulkResult) error {
	if !x.partial() {
		return x.show(http.StatusOK, "pet-bulk", result.Summary(), result)
	}
	return x.showFragment("bulk-result", result)
}

// Replacing is like With, but for a row that replaces a row on the page.
func (v view) Replacing(data any) *view {
	v.Data, v.Replace = data, true
	return &v
}
