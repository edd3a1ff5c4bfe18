package staff

import (
	"fmt"
	"regexp"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// bulk sends the form for a bulk action on the given animals. Like the page, the form contains a token for the state of
// each animal.
func (b *browser) bulk(pets []shop.Pet, fields ...string) response {
	b.t.Helper()
	for _, pet := range pets {
		fields = append(fields, "pet", petToken(pet))
	}
	return b.post("/staff/pets/bulk", fields...)
}

// undoBulk presses the Undo button in the response to a bulk action. The test fails if there is no such button.
func (b *browser) undoBulk(r response) response {
	b.t.Helper()
	form := regexp.MustCompile(`(?s)action="/staff/pets/undo".*?</form>`).FindString(r.body)
	if form == "" {
		b.t.Fatalf("there is no Undo: %s", r.body)
	}
	return b.post("/staff/pets/undo", hiddenFields(form)...)
}

func TestBulkActionsAreUndone(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	var pets []shop.Pet
	for i, status := range []shop.Status{shop.Available, shop.Pending, shop.Available, ""} {
		pets = append(pets, s.AddPet(t, fmt.Sprint("Rex ", i), int64(1+i), status))
	}
	for _, b := range []*browser{b, b.withHTMX()} {
		category := b.bulk(pets, "do", "category", "category", "9", "back", "/staff/pets?status=sold").want(200, "4 animals changed", "Undo")
		b.undoBulk(category).want(200, "4 animals are as before")
		removed := b.bulk(pets, "do", "remove").want(200, "4 animals removed", "Undo")
		s.wantPetCount(0)
		b.undoBulk(removed).want(200, "4 animals were restored")
		for _, pet := range pets {
			s.wantPet(pet)
		}
	}
	status := b.withHTMX().bulk(pets[:1], "do", "sold").want(200, "1 animal changed", "Undo")
	b.withHTMX().undoBulk(status).want(200, "Rex 0 is as before.")
	s.wantPet(pets[0])
	// With scripts, the responses update the rows of the list.
	removed := b.withHTMX().bulk(pets[:2], "do", "remove").contains(`<tr id="pet-1" class="removed" hx-swap-oob="true"`, `hx-swap-oob="beforeend:#flashes"`)
	b.withHTMX().undoBulk(removed).want(200, `"pet-1":""`, `"pet-2":""`, "2 animals were restored.")
	b.post("/staff/pets/undo", "pet-1", pets[0].ETag(), "pet-2", "x", "category-1", "x").want(200, "1 animal can’t be set back")
	b.post("/staff/pets/undo", "pet-x", "removed").want(422)
	b.post("/staff/pets/undo").want(422)
	s.signedIn(s.Key(t, shop.PetsRead).Secret).post("/staff/pets/undo", "pet-1", "removed").want(403)
}

// Undo skips animals that somebody has changed since, and says how many it has skipped.
func TestUndoOfABulkActionKeepsLaterChanges(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	var pets []shop.Pet
	for i := range 4 {
		pets = append(pets, s.AddPet(t, fmt.Sprint("Rex ", i), 1, shop.Available))
	}
	changed := b.bulk(pets, "do", "pending").want(200, "4 animals changed")
	later := shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, 1, shop.PetChange{Name: new("Max")}, nil))(t)
	shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, 2, shop.PetChange{Status: new(shop.Sold)}, nil))(t)
	shoptest.OK(t, s.DeletePet(t.Context(), shop.Caller{}, 3, nil))
	b.undoBulk(changed).want(200, "1 animal is as before. 3 animals stay as they are, because someone has changed them in the meantime",
		"Max (no. 1): Someone else has changed it", "No. 3: Someone else has removed it").lacks("Undo</button>")
	s.wantPet(later)
	s.wantPet(pets[3])
	pets = []shop.Pet{later, pets[3]}
	removed := b.bulk(pets, "do", "remove").want(200, "2 animals removed")
	shoptest.Must(s.RestorePet(t.Context(), shop.Caller{}, 4))(t)
	b.undoBulk(removed).want(200, "1 animal was restored. 1 animal stays as it is", "Someone else has restored it")
}

// If a bulk action cannot be undone for some animals, the user is told how many and asked for confirmation. Undo then
// changes back only the other animals.
func TestBulkActionsWithoutAWayBackAskFirst(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	free, held, none := s.AddPet(t, "Free", 1, shop.Available), s.AddPet(t, "Held", 1, shop.Pending), s.AddPet(t, "None", 1, "")
	pets := []shop.Pet{free, held, none}
	form := []string{"do", "sold", "back", "/staff/pets?status=pending"}
	b.bulk(pets, form...).want(200, "Mark 3 animals as sold?", "This can’t be undone for 2 of them: an animal that has a status always keeps one, and an animal that is sold can’t become reserved again.").
		contains(petToken(free), petToken(held), petToken(none), `href="/staff/pets?status=pending">Cancel`)
	b.bulk(pets[1:2], form...).want(200, "Mark 1 animal as sold?", "This can’t be undone: an animal that is sold")
	b.withHTMX().bulk(pets, form...).want(200, "Mark 3 animals as sold?").contains("<dialog", `hx-target="#bulk-result"`).lacks("<html")
	for _, pet := range pets {
		s.wantPet(pet)
	}
	changed := b.bulk(pets, append(form, "confirmed", "yes")...).want(200, "3 animals changed")
	b.undoBulk(changed).want(200, "1 animal is as before. 2 animals can’t be set back", "Held (no. 2): An animal that is sold can’t become reserved again.")
	s.wantPet(free)
	// If the action cannot be undone for any animal, there is no Undo button. If it can be undone for all animals, the
	// user is not asked.
	again := s.AddPet(t, "Again", 1, shop.Pending)
	b.bulk([]shop.Pet{again}, append(form, "confirmed", "yes")...).want(200, "1 animal changed").lacks("Undo</button>")
	b.bulk([]shop.Pet{free}, form...).want(200, "1 animal changed")
}
