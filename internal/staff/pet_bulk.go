package staff

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// maxBulk is the maximum number of animals that a bulk action handles.
const maxBulk = 100

// petToken identifies an animal as the page shows it: its id and its entity tag. A bulk action changes only
// animals that still have the same token.
func petToken(pet shop.Pet) string {
	return strconv.FormatInt(pet.ID, 10) + "-" + strings.Trim(pet.ETag(), `"`)
}

// bulkResult is the template data for the outcome of a bulk action.
type bulkResult struct {
	Back      string // the path of the list
	Verb      string // what happened to the animals, such as "changed"
	Changed   int
	Unchanged int // the number of animals that were already as wanted
	Conflicts []bulkProblem
	Refused   []bulkProblem
	Rows      []shop.PetView // the animals after the action
	Removed   []int64
}

// bulkProblem says why one animal was not changed.
type bulkProblem struct {
	ID      int64
	Name    string // "" if the animal no longer exists
	Message string
}

// Summary returns the outcome in one line, such as "18 changed, 2 conflicts".
func (r bulkResult) Summary() string {
	parts := []string{fmt.Sprint(r.Changed, " ", r.Verb)}
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
	return append(r.Conflicts[:len(r.Conflicts):len(r.Conflicts)], r.Refused...)
}

// selectedPets returns the tokens of the selected animals by their ids, and the ids in the order of the page.
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

// changePets does something with all selected animals: it gives them a status or a category, removes them or
// prints them. Each animal is handled on its own, and the result says which ones were not changed and why.
func (p *Pages) changePets(x *exchange) error {
	ids, tokens, err := x.selectedPets()
	if err != nil {
		return err
	}
	result := bulkResult{Back: listPath(x.field("back")), Verb: "changed"}
	var change shop.PetChange
	action := x.field("do")
	switch action {
	case "print":
		return x.redirect(printPath(ids))
	case "remove":
		result.Verb = "removed"
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
	}
	failed := map[int64]error{}
	for _, id := range ids {
		match := func(now shop.Pet) bool { return petToken(now) == tokens[id] }
		if action == "remove" {
			err = p.Service.DeletePet(x.context(), id, match)
			if err == nil {
				result.Removed = append(result.Removed, id)
				result.Changed++
			}
		} else {
			var pet shop.Pet
			pet, err = p.Service.UpdatePet(x.context(), id, change, match)
			switch {
			case err != nil:
			case match(pet):
				result.Unchanged++
			default:
				result.Changed++
			}
		}
		if err != nil {
			failed[id] = err
		}
	}
	if err := x.describePets(&result, ids, failed); err != nil {
		return err
	}
	return x.showBulkResult(result)
}

// describePets reads the animals after the action and tells conflicts from changes that are not possible.
func (x *exchange) describePets(result *bulkResult, ids []int64, failed map[int64]error) error {
	pets, err := x.Service.ListPetViews(x.context(), shop.PetList{
		PetFilter: shop.PetFilter{IDs: ids}, PageRequest: shop.PageRequest{Limit: len(ids)},
	})
	if err != nil {
		return err
	}
	result.Rows = pets.Items
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
		case shop.NotFound:
			problem.Message = "Someone else has removed it in the meantime."
			result.Conflicts = append(result.Conflicts, problem)
			result.Removed = append(result.Removed, id)
		default:
			if problem.Message = userMessage(err); problem.Message == "" {
				problem.Message = "The store did not respond; check the animal and try again."
			}
			result.Refused = append(result.Refused, problem)
		}
	}
	return nil
}

func (x *exchange) showBulkResult(result bulkResult) error {
	if !x.partial() {
		return x.show(http.StatusOK, "pet-bulk", result.Summary(), result)
	}
	if len(result.Conflicts)+len(result.Refused) == 0 {
		x.flash("%s.", result.Summary())
	}
	return x.showFragment("bulk-result", result)
}

// listPath returns the path of the list from which a form was sent, or the whole list if the path is not one.
func listPath(back string) string {
	if path, err := url.Parse(back); err == nil && path.Host == "" && path.Scheme == "" && path.Path == "/staff/pets" {
		return "/staff/pets?" + path.RawQuery
	}
	return "/staff/pets"
}

// printPath returns the path of the page that prints the given animals.
func printPath(ids []int64) string {
	values := url.Values{}
	for _, id := range ids {
		values.Add("id", strconv.FormatInt(id, 10))
	}
	return "/staff/pets/print?" + values.Encode() + "#print"
}

// Replacing is like With for a row that replaces the one on the page.
func (v view) Replacing(data any) *view {
	v.Data, v.Replace = data, true
	return &v
}
