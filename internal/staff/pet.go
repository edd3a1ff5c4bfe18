package staff

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// pageLength is how many things a page lists before it asks for more.
const pageLength = 50

// mostChoices is how many categories can be chosen from a list; where there are more, people write the number.
const mostChoices = 200

// petQuery is what the catalogue is narrowed by, as its form sends it.
type petQuery struct {
	Name     string
	Status   string
	Category string
	Problem  string
}

// readPetQuery reads the filters; what makes no sense is said and left out.
func readPetQuery(values url.Values) (petQuery, shop.PetFilter) {
	q := petQuery{Name: strings.TrimSpace(values.Get("name")), Status: values.Get("status"), Category: strings.TrimSpace(values.Get("category"))}
	var filter shop.PetFilter
	if q.Name != "" {
		if reason := shop.TextProblem(q.Name); reason != "" {
			q.Problem = "The name " + reason + "."
		} else {
			filter.Query = q.Name
		}
	}
	if q.Status != "" {
		if reason := shop.StatusProblem(q.Status); reason != "" {
			q.Problem = "The status " + reason + "."
		} else {
			filter.Status = shop.Status(q.Status)
		}
	}
	if q.Category != "" {
		if id, err := strconv.ParseInt(q.Category, 10, 64); err != nil {
			q.Problem = "The category must be the number of one."
		} else {
			filter.CategoryID = &id
		}
	}
	return q, filter
}

// Next is the address of the page after an animal, with the same filters.
func (q petQuery) Next(from int64) string {
	return q.path(url.Values{"from": {strconv.FormatInt(from, 10)}})
}

// Path is the address of the first page.
func (q petQuery) Path() string { return q.path(url.Values{}) }

func (q petQuery) path(values url.Values) string {
	for name, value := range map[string]string{"name": q.Name, "status": q.Status, "category": q.Category} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return "/staff/pets?" + values.Encode()
}

// catalogue is what the page of the animals shows.
type catalogue struct {
	Query   petQuery
	Rows    []shop.Listing
	More    int64 // the last animal of the page, where others follow; 0: none
	Newest  int64 // the first animal of the first page
	Later   bool  // it is not the first page, or not the first rows any more
	Choices choices
	Add     petForm
}

// choices are the categories to choose from.
type choices struct {
	Categories []shop.Category
	TooMany    bool
}

func (v *visit) choices() (choices, error) {
	page, err := v.Service.ListCategories(v.r.Context(), shop.Window{Limit: mostChoices})
	return choices{page.Items, page.More}, err
}

// Has tells whether a category can be chosen.
func (c choices) Has(id string) bool {
	for _, category := range c.Categories {
		if strconv.FormatInt(category.ID, 10) == id {
			return true
		}
	}
	return id == ""
}

func (p *Pages) pets(v *visit) error {
	query, filter := readPetQuery(v.r.URL.Query())
	list := shop.PetList{PetFilter: filter, Window: shop.Window{Limit: pageLength}}
	if from, err := strconv.ParseInt(v.r.URL.Query().Get("from"), 10, 64); err == nil {
		list.From = &from
	}
	page, err := p.Service.ListListings(v.r.Context(), list)
	if err != nil {
		return err
	}
	shown := catalogue{Query: query, Rows: page.Items, Later: list.From != nil}
	if page.More {
		shown.More = page.Items[len(page.Items)-1].ID
	}
	if len(page.Items) > 0 && list.From == nil {
		shown.Newest = page.Items[0].ID
	}
	if v.partial() && list.From != nil { // the next rows of a page that is there
		return v.showPart("pet-rows", shown)
	}
	if shown.Choices, err = v.choices(); err != nil {
		return err
	}
	shown.Add.Choices = shown.Choices
	return v.show(http.StatusOK, "pets", "Animals", shown)
}

// freshPets answers with the animals that came after the newest one on the page.
func (p *Pages) freshPets(v *visit) error {
	query, filter := readPetQuery(v.r.URL.Query())
	page, err := p.Service.ListListings(v.r.Context(), shop.PetList{PetFilter: filter, Window: shop.Window{Limit: pageLength}})
	if err != nil {
		return err
	}
	newest, _ := strconv.ParseInt(v.r.URL.Query().Get("newest"), 10, 64) // none: there was no animal
	shown := catalogue{Query: query, Newest: newest}
	for _, listing := range page.Items {
		if listing.ID > newest {
			shown.Rows = append(shown.Rows, listing)
			shown.Newest = max(shown.Newest, listing.ID)
		}
	}
	if len(shown.Rows) == pageLength && page.More { // more than a page has come: what is between is not shown
		shown.Rows, shown.Later = nil, true
	}
	return v.showPart("pet-fresh", shown)
}

// petForm is an animal on its way in or being changed, as people have written it.
type petForm struct {
	ID       int64
	Name     string
	Category string
	Status   string
	Was      shop.Pet // as it was when it was shown
	Problem  string
	Conflict *shop.Listing // what it has become meanwhile; nil: nothing
	Choices  choices
	InTable  bool
	Moves    []shop.Status
}

// readPetForm reads what people wrote.
func (v *visit) readPetForm() petForm {
	return petForm{Name: strings.TrimSpace(v.field("name")), Category: strings.TrimSpace(v.field("category")), Status: v.field("status")}
}

// category reads the category of a form.
func (f petForm) category() (int64, error) {
	id, err := strconv.ParseInt(f.Category, 10, 64)
	if err != nil {
		return 0, shop.Errorf(shop.ValidationFailed, "Choose a category.")
	}
	return id, nil
}

// problemOf is what people can do something about, or "". Anything else is an error of the whole request.
func problemOf(err error) string {
	e := shop.AsError(err)
	if e.Code == shop.Unavailable || e.Code == shop.Internal {
		return ""
	}
	return plain(e.Message)
}

// plain says what is wrong with a form in the words of the page: it has no body and no members.
func plain(message string) string {
	message = strings.TrimPrefix(message, "The body is not valid: ")
	for member, word := range map[string]string{"categoryId ": "the category ", "expiresAt ": "the time ", "url ": "the address "} {
		if rest, ok := strings.CutPrefix(message, member); ok {
			message = word + rest
		}
	}
	if message == "" {
		return ""
	}
	return strings.ToUpper(message[:1]) + message[1:]
}

func (p *Pages) addPet(v *visit) error {
	form := v.readPetForm()
	id, err := form.category()
	if err == nil {
		var pet shop.Pet
		pet, err = p.Service.CreatePet(v.context(), shop.NewPet{Name: form.Name, CategoryID: id, Status: shop.Status(form.Status)})
		if err == nil {
			return v.added(pet, form)
		}
	}
	if form.Problem = problemOf(err); form.Problem == "" {
		return err
	}
	if form.Choices, err = v.choices(); err != nil {
		return err
	}
	if v.partial() {
		return v.showPart("pet-add", form)
	}
	return v.show(http.StatusUnprocessableEntity, "pet-add-page", "Add an animal", form)
}

// added goes on after an animal has come: the form is free for the next one of its kind.
func (v *visit) added(pet shop.Pet, form petForm) (err error) {
	if !v.partial() {
		return v.goTo("/staff/pets")
	}
	next := petForm{Category: form.Category, Status: form.Status}
	if next.Choices, err = v.choices(); err != nil {
		return err
	}
	v.tell("notice", "%s was added as number %d.", pet.Name, pet.ID)
	v.w.Header().Set("HX-Trigger-After-Swap", "pets-created")
	return v.showPart("pet-add", next)
}

// petRow answers with one row of the table.
func (p *Pages) petRow(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	return v.showRow(id)
}

// showRow answers with the row of an animal as it is now.
func (v *visit) showRow(id int64) error {
	listing, err := v.Service.Listing(v.r.Context(), id)
	if err != nil {
		if shop.AsError(err).Code != shop.NotFound {
			return err
		}
		return v.showPart("pet-gone", id)
	}
	return v.showPart("pet-row", listing)
}

func (p *Pages) editPet(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	listing, err := p.Service.Listing(v.r.Context(), id)
	if err != nil {
		return err
	}
	return v.showEdit(http.StatusOK, petForm{
		ID: id, Name: listing.Name, Category: strconv.FormatInt(listing.CategoryID, 10), Was: listing.Pet, Moves: listing.Moves(),
	})
}

// showEdit answers with the form of an animal, in its row or on a page of its own.
func (v *visit) showEdit(status int, form petForm) (err error) {
	if form.Choices, err = v.choices(); err != nil {
		return err
	}
	if v.partial() {
		form.InTable = true
		return v.showPart("pet-edit", form)
	}
	return v.show(status, "pet-edit-page", "Change "+form.Was.Name, form)
}

// wasPet is the animal as a form has shown it.
func (v *visit) wasPet(id int64) shop.Pet {
	category, _ := strconv.ParseInt(v.field("was-category"), 10, 64) // where it is none, it matches nothing
	return shop.Pet{ID: id, Name: v.field("was-name"), CategoryID: category, Status: shop.Status(v.field("was-status"))}
}

func (p *Pages) savePet(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	form, was := v.readPetForm(), v.wasPet(id)
	form.ID, form.Was = id, was
	var category int64
	if category, err = form.category(); err == nil {
		change := shop.PetChange{Name: &form.Name, CategoryID: &category}
		var pet shop.Pet
		// Its status may have moved on: that is another matter, and not overwritten here.
		pet, err = p.Service.UpdatePet(v.context(), id, change, func(now shop.Pet) bool {
			return now.Name == was.Name && now.CategoryID == was.CategoryID
		})
		if err == nil {
			v.tell("notice", "%s was saved.", pet.Name)
			return v.afterPet(id)
		}
	}
	if shop.AsError(err).Code == shop.PreconditionFailed {
		return v.showConflict(form)
	}
	if form.Problem = problemOf(err); form.Problem == "" || shop.AsError(err).Code == shop.NotFound {
		return err
	}
	return v.showEdit(http.StatusUnprocessableEntity, form)
}

// showConflict says that somebody else was quicker, and shows both; saving again is then a choice.
func (v *visit) showConflict(form petForm) error {
	listing, err := v.Service.Listing(v.r.Context(), form.ID)
	if err != nil {
		return err
	}
	form.Conflict, form.Was = &listing, listing.Pet
	return v.showEdit(http.StatusConflict, form)
}

// afterPet shows an animal after it has changed: its row in the table, or its page.
func (v *visit) afterPet(id int64) error {
	if v.partial() && v.r.Header.Get("HX-Target") != "animal" {
		return v.showRow(id)
	}
	if v.partial() {
		return v.showAnimal(id)
	}
	if v.field("back") == "list" {
		return v.goTo("/staff/pets")
	}
	return v.goTo("/staff/pets/" + strconv.FormatInt(id, 10))
}

// movePet gives an animal another status, unless it has another one already than the page showed.
func (p *Pages) movePet(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	was, to := shop.Status(v.field("was")), shop.Status(v.field("to"))
	pet, err := p.Service.UpdatePet(v.context(), id, shop.PetChange{Status: &to}, func(now shop.Pet) bool { return now.Status == was })
	switch code := shop.AsError(err).Code; {
	case err == nil:
		v.tell("notice", "%s is %s now.", pet.Name, pet.Status)
	case !v.partial() || code == shop.Unavailable || code == shop.Internal:
		if code == shop.PreconditionFailed {
			return shop.Errorf(code, "Somebody else has changed its status meanwhile, and nothing was changed. Look at it again and decide anew.")
		}
		return err
	case code == shop.PreconditionFailed:
		v.tell("problem", "Somebody else has changed its status meanwhile, and nothing was changed. You see what it is now.")
	default:
		v.tell("problem", "%s", plain(shop.AsError(err).Message))
	}
	return v.afterPet(id)
}

// leavePet shows that an animal is about to be removed. Nothing has happened yet: it is removed when the page says so some
// seconds later, and until then it can stay, with its number and its history.
func (p *Pages) leavePet(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	listing, err := p.Service.Listing(v.r.Context(), id)
	if err != nil {
		return err
	}
	if v.partial() {
		return v.showPart("pet-leaving", listing)
	}
	return v.show(http.StatusOK, "pet-delete", "Remove "+listing.Name, listing)
}

func (p *Pages) deletePet(v *visit) error {
	id, err := v.thing()
	if err != nil {
		return err
	}
	was := v.wasPet(id)
	err = p.Service.DeletePet(v.context(), id, func(now shop.Pet) bool { return now == was })
	if err == nil {
		v.tell("notice", "%s was removed.", was.Name)
		if v.partial() {
			return v.send(http.StatusOK, "text/html; charset=utf-8", nil)
		}
		return v.goTo("/staff/pets")
	}
	e := shop.AsError(err)
	if e.Code == shop.PreconditionFailed {
		e = shop.Errorf(e.Code, "Somebody else has changed %s meanwhile, so it was not removed. Look at it again and decide anew.", was.Name)
	}
	if !v.partial() || e.Code == shop.Unavailable || e.Code == shop.Internal {
		return e
	}
	v.tell("problem", "%s", e.Message)
	return v.showRow(id)
}
