package staff

import (
	"net/http"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// petForm is the template data for the form that adds or edits an animal. It holds the values as the user
// entered them.
type petForm struct {
	ID          int64
	Name        string
	Category    string   // the id of the selected category, or newCategory
	NewCategory string   // the name of the new category
	Status      string   // the selected status, or noStatus
	Original    shop.Pet // the animal's values when the form was shown
	Problem     string
	Conflict    *shop.PetView // the animal's current values if someone else has changed them, else nil
	Categories  categoryOptions
	Next        bool // whether an animal was just added with this form, so that the cursor goes back to the name
}

// These values of the form stand for a category that does not exist yet, and for an animal without a status.
const newCategory, noStatus = "new", "none"

// readPetForm reads an animal's values from the form fields.
func (x *exchange) readPetForm() petForm {
	return petForm{
		Name: strings.TrimSpace(x.field("name")), Category: strings.TrimSpace(x.field("category")),
		NewCategory: strings.TrimSpace(x.field("new-category")), Status: x.field("status"),
	}
}

func (p *Pages) addPet(x *exchange) error {
	form := x.readPetForm()
	id, err := x.petCategory(form)
	if err == nil {
		status := shop.Status(form.Status)
		if status == noStatus {
			status = ""
		}
		var pet shop.Pet
		pet, err = once(x, func(by shop.Caller) (shop.Pet, error) {
			return p.Service.CreatePet(x.r.Context(), by, shop.NewPet{Name: form.Name, CategoryID: id, Status: status})
		})
		if err == nil {
			return x.showAddedPet(pet, form.Status)
		}
	}
	if form.Problem = userMessage(err); form.Problem == "" {
		return err
	}
	if form.Categories, err = x.categoryOptions(form.Category); err != nil {
		return err
	}
	if x.partial() {
		return x.showFragment("pet-add", form)
	}
	return x.show(http.StatusUnprocessableEntity, "pet-add", "Add animal", form)
}

// petCategory is like ensureCategory, but checks the animal's name first. An invalid name therefore does not leave a
// new, empty category behind.
func (x *exchange) petCategory(form petForm) (int64, error) {
	if reason := shop.TextProblem(form.Name); reason != "" {
		return 0, shop.Errorf(shop.ValidationFailed, "Name %s.", reason)
	}
	return x.ensureCategory(form)
}

// ensureCategory returns the id of the category that the form selects. If the user has entered a name for a new
// category, ensureCategory creates the category, or uses an existing one with that name. It fails with
// validation_failed if no category is selected, or if no category has the selected name.
func (x *exchange) ensureCategory(form petForm) (int64, error) {
	isNew := form.Category == newCategory || form.Category == "" && form.NewCategory != ""
	switch {
	case !isNew && form.Category == "":
		return 0, shop.Errorf(shop.ValidationFailed, "Select a category.")
	case !isNew:
		return x.resolveCategory(form.Category)
	case form.NewCategory == "":
		return 0, shop.Errorf(shop.ValidationFailed, "Enter a name for the new category.")
	}
	id, exists, err := x.categoryNamed(form.NewCategory)
	if err != nil || exists {
		return id, err
	}
	created, err := x.Service.CreateCategory(x.r.Context(), x.caller(), form.NewCategory)
	return created.ID, err
}

// showAddedPet responds after an animal was added. The form keeps the category and status, so that the user
// can quickly add a similar animal.
func (x *exchange) showAddedPet(pet shop.Pet, status string) (err error) {
	x.flashAbout(petTopic(pet.ID), &undo{petPath(pet.ID) + "/undo", nil}, "%s was added as number %d.", pet.Name, pet.ID)
	if !x.partial() {
		return x.redirect("/staff/pets")
	}
	next := petForm{Category: strconv.FormatInt(pet.CategoryID, 10), Status: status, Next: true}
	if next.Categories, err = x.categoryOptions(next.Category); err != nil {
		return err
	}
	x.w.Header().Set("HX-Trigger-After-Swap", "pets-created")
	return x.showFragment("pet-add", next)
}

func (p *Pages) editPet(x *exchange, id int64) error {
	pet, err := p.Service.PetView(x.r.Context(), id)
	if err != nil {
		return err
	}
	return x.showEditForm(http.StatusOK, petForm{
		ID: pet.ID, Name: pet.Name, Category: strconv.FormatInt(pet.CategoryID, 10), Original: pet.Pet,
	})
}

// showEditForm responds with the form for editing an animal, either in its table row or as a page.
func (x *exchange) showEditForm(status int, form petForm) (err error) {
	if form.Categories, err = x.categoryOptions(form.Category); err != nil {
		return err
	}
	if x.partial() {
		return x.showFragment("pet-edit", form)
	}
	return x.show(status, "pet-edit", "Edit "+form.Original.Name, form)
}

// originalPet returns the animal's values as they were when the form was shown. The form contains them in hidden
// fields.
func (x *exchange) originalPet(id int64) shop.Pet {
	category, _ := strconv.ParseInt(x.field("was-category"), 10, 64) // an invalid id becomes 0, which matches no animal
	return shop.Pet{ID: id, Name: x.field("was-name"), CategoryID: category, Status: shop.Status(x.field("was-status"))}
}

func (p *Pages) savePet(x *exchange, id int64) error {
	form, original := x.readPetForm(), x.originalPet(id)
	form.ID, form.Original = id, original
	category, err := x.petCategory(form)
	if err == nil {
		change := shop.PetChange{Name: &form.Name, CategoryID: &category}
		var pet shop.Pet
		// This form does not contain the status, so a change of status by someone else is not a conflict.
		pet, err = once(x, func(by shop.Caller) (shop.Pet, error) {
			return p.Service.UpdatePet(x.r.Context(), by, id, change, func(now shop.Pet) bool {
				return now.Name == original.Name && now.CategoryID == original.CategoryID
			})
		})
		if err == nil {
			before := pet
			before.Name, before.CategoryID = original.Name, original.CategoryID
			x.flashAbout(petTopic(id), undoOfPets(petChange{before, pet}), "%s was saved.", pet.Name)
			return x.showChangedPet(id, nil)
		}
	}
	if shop.AsError(err).Code == shop.PreconditionFailed {
		return x.showConflict(form)
	}
	if form.Problem = userMessage(err); form.Problem == "" || isNotFound(err) {
		return err
	}
	return x.showEditForm(http.StatusUnprocessableEntity, form)
}

// showConflict shows the animal's current values beside the values in the form. If the user saves again, the
// current values are overwritten.
func (x *exchange) showConflict(form petForm) error {
	current, err := x.Service.PetView(x.r.Context(), form.ID)
	if err != nil {
		return err
	}
	form.Conflict, form.Original = &current, current.Pet
	return x.showEditForm(http.StatusConflict, form)
}
