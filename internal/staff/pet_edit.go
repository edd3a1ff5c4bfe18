package staff

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
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

// userMessage returns the message of an error that the user can act on. It uses the words on the page, such
// as "the category" for "categoryId". It returns "" if the service itself has failed.
func userMessage(err error) string {
	e := shop.AsError(err)
	if e.Code == shop.Unavailable || e.Code == shop.Internal {
		return ""
	}
	message := strings.TrimPrefix(e.Message, "The body is not valid: ")
	for member, label := range map[string]string{
		"categoryId ": "the category ", "expiresAt ": "the expiry date ", "url ": "the URL ", "reference ": "the customer ", "holdExpiresAt ": "the end of the hold ",
	} {
		if rest, ok := strings.CutPrefix(message, member); ok {
			message = label + rest
		}
	}
	message = strings.ReplaceAll(message, shop.OrderStatusProblem(""), "must be one of "+orderStatusNames())
	switch e.Code {
	// The messages of these errors contain no text from users, so words can be replaced anywhere in them.
	case shop.InvalidTransition, shop.PetHasOpenOrder, shop.PetNotAvailable:
		message = apiWords.ReplaceAllStringFunc(message, func(word string) string { return pageWords[word] })
	}
	return strings.ToUpper(message[:1]) + message[1:]
}

// pageWords maps words in the API's messages to the words that the pages use.
var pageWords = map[string]string{
	"placed": "reserved", "ordered": "reserved", "delivered": "handed over", "deliver": "hand over", "reference": "customer",
}

var apiWords = regexp.MustCompile(`\b(` + strings.Join(slices.Collect(maps.Keys(pageWords)), "|") + `)\b`)

func (p *Pages) addPet(x *exchange) error {
	form := x.readPetForm()
	id, err := x.petCategory(form)
	if err == nil {
		status := shop.Status(form.Status)
		if status == noStatus {
			status = ""
		}
		var pet shop.Pet
		pet, err = p.Service.CreatePet(x.context(), shop.NewPet{Name: form.Name, CategoryID: id, Status: status})
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
	created, err := x.Service.CreateCategory(x.context(), form.NewCategory)
	return created.ID, err
}

// showAddedPet responds after an animal was added. The form keeps the category and status, so that the user
// can quickly add a similar animal.
func (x *exchange) showAddedPet(pet shop.Pet, status string) (err error) {
	if !x.partial() {
		return x.redirect("/staff/pets")
	}
	next := petForm{Category: strconv.FormatInt(pet.CategoryID, 10), Status: status, Next: true}
	if next.Categories, err = x.categoryOptions(next.Category); err != nil {
		return err
	}
	x.flash("%s was added as number %d.", pet.Name, pet.ID)
	x.w.Header().Set("HX-Trigger-After-Swap", "pets-created")
	return x.showFragment("pet-add", next)
}

func (p *Pages) petRow(x *exchange) error {
	id, err := x.pathID()
	if err != nil {
		return err
	}
	return x.showPetRow(id)
}

// petFromPath loads the animal whose id is in the path.
func (x *exchange) petFromPath() (shop.PetView, error) {
	id, err := x.pathID()
	if err != nil {
		return shop.PetView{}, err
	}
	return x.Service.PetView(x.r.Context(), id)
}

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
	return x.showFragment("pet-row", pet)
}

func (p *Pages) editPet(x *exchange) error {
	pet, err := x.petFromPath()
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

func (p *Pages) savePet(x *exchange) error {
	id, err := x.pathID()
	if err != nil {
		return err
	}
	form, original := x.readPetForm(), x.originalPet(id)
	form.ID, form.Original = id, original
	var category int64
	if category, err = x.petCategory(form); err == nil {
		change := shop.PetChange{Name: &form.Name, CategoryID: &category}
		var pet shop.Pet
		// This form does not contain the status, so a change of status by someone else is not a conflict.
		pet, err = p.Service.UpdatePet(x.context(), id, change, func(now shop.Pet) bool {
			return now.Name == original.Name && now.CategoryID == original.CategoryID
		})
		if err == nil {
			before := pet
			before.Name, before.CategoryID = original.Name, original.CategoryID
			x.flashUndo(undoOfPetChange(before, pet), "%s was saved.", pet.Name)
			return x.showChangedPet(id)
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

// showChangedPet responds after a change with the animal's table row or its page. Without scripts, the browser goes
// back to the page from which the form was sent.
func (x *exchange) showChangedPet(id int64) error {
	if x.partial() && x.r.Header.Get("HX-Target") != "pet-detail" {
		return x.showPetRow(id)
	}
	if x.partial() {
		return x.showPetDetail(id)
	}
	return x.redirect(x.backOr(petPath(id)))
}

// setPetStatus changes the status of an animal, unless the status has changed since the page was shown.
func (p *Pages) setPetStatus(x *exchange) error {
	id, err := x.pathID()
	if err != nil {
		return err
	}
	was, to := shop.Status(x.field("was")), shop.Status(x.field("to"))
	if reason := noWayBack(was, to); reason != "" && slices.Contains(was.Transitions(), to) && !x.confirmed() {
		return x.askAboutPet(id, to, reason)
	}
	pet, err := p.Service.UpdatePet(x.context(), id, shop.PetChange{Status: &to}, func(now shop.Pet) bool { return now.Status == was })
	if err == nil {
		before := pet
		before.Status = was
		x.flashUndo(undoOfPetChange(before, pet), "%s is now %s.", pet.Name, pet.Status)
		return x.showChangedPet(id)
	}
	if shop.AsError(err).Code == shop.PreconditionFailed {
		err = shop.Errorf(shop.PreconditionFailed, "Someone else has changed its status in the meantime, so nothing was saved. Check it and try again.")
	}
	if !x.partial() || userMessage(err) == "" {
		return err
	}
	x.flashProblem(userMessage(err))
	return x.showChangedPet(id)
}

// askAboutPet asks the user to confirm a change of status that cannot be undone for the given reason.
func (x *exchange) askAboutPet(id int64, to shop.Status, reason string) error {
	pet, err := x.Service.Pet(x.r.Context(), id)
	if err != nil {
		return err
	}
	return x.ask(question{
		Title: "Mark " + pet.Name + " as " + string(to) + "?", Text: "This can’t be undone: " + reason + ".",
		Button: "Mark as " + string(to), Back: x.backOr(petPath(id)),
	})
}

// deletePet removes an animal, unless it has changed since the page was shown. The animal's page remains and offers
// to restore it.
func (p *Pages) deletePet(x *exchange) error {
	id, err := x.pathID()
	if err != nil {
		return err
	}
	original := x.originalPet(id)
	err = p.Service.DeletePet(x.context(), id, func(now shop.Pet) bool { return now == original })
	if err == nil {
		x.flashUndo(&undo{petPath(id) + "/restore", nil}, "%s was removed.", original.Name)
		return x.showChangedPet(id)
	}
	if shop.AsError(err).Code == shop.PreconditionFailed {
		err = shop.Errorf(shop.PreconditionFailed, "Someone else has changed %s in the meantime, so it was not removed. Check it and try again.", original.Name)
	}
	if !x.partial() || userMessage(err) == "" {
		return err
	}
	x.flashProblem(userMessage(err))
	return x.showChangedPet(id)
}
