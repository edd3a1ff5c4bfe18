package staff

import (
	"net/http"
	"slices"
	"strings"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// profileSave is the name of the route that saves a section of a profile.
const profileSave = "profile-save"

// profileSection is a part of a profile that is shown and edited on its own.
type profileSection struct {
	Name     string
	Title    string
	Internal bool // whether only users with the scope pets:write see the section
	Fields   []profileField
}

// publishSection is the name of the section with the switch. It has no form.
const publishSection = "publish"

// profileField is a field in the form of a section. The value of every field is a text.
type profileField struct {
	Name    string
	Label   string
	Hint    string
	Kind    string // "text", "lines", "date", "select" or "tabs"
	Mode    string // the keyboard that phones show, or ""
	Max     int    // the maximum number of characters, or 0
	Options []profileOption

	member string // the name of the member in problems
	get    func(shop.Profile) string
	set    func(*shop.ProfileChange, string)
}

// profileOption is a choice in a field. Its value "" removes the member.
type profileOption struct{ Value, Label string }

// Path returns the path of the page on which the section is edited.
func (s profileSection) Path(petID int64) string { return petPath(petID) + "/profile/" + s.Name }

// values returns the values of the section's fields in a profile.
func (s profileSection) values(p shop.Profile) map[string]string {
	values := map[string]string{}
	for _, field := range s.Fields {
		values[field.Name] = field.get(p)
	}
	return values
}

// tag returns an entity tag that changes if a field of this section changes.
func (s profileSection) tag(p shop.Profile) string {
	var text []byte
	for _, field := range s.Fields {
		text = append(append(text, field.get(p)...), 0)
	}
	return shop.EntityTag(text)
}

// change returns the change that a form with these values asks for.
func (s profileSection) change(values map[string]string) (change shop.ProfileChange) {
	for _, field := range s.Fields {
		field.set(&change, values[field.Name])
	}
	return change
}

// profileSections returns the sections of a profile in the order of the page.
func profileSections() []profileSection {
	return []profileSection{
		{Name: publishSection, Title: "Published", Fields: []profileField{{
			Name:   "published",
			member: "published",
			get:    func(p shop.Profile) string { return answerValue(shop.AnswerOf(p.Published)) },
			set:    func(c *shop.ProfileChange, value string) { c.Published = new(value == "yes") },
		}}},
		{Name: "facts", Title: "Facts", Fields: factFields()},
		{Name: "price", Title: "Price and contact", Fields: priceFields()},
		{Name: "about", Title: "About", Fields: aboutFields()},
		{Name: "traits", Title: "Health and character", Fields: traitFields()},
		{Name: "internal", Title: "Internal", Internal: true, Fields: internalFields()},
	}
}

// profileSectionNamed returns the section with the given name.
func profileSectionNamed(name string) (profileSection, bool) {
	sections := profileSections()
	i := slices.IndexFunc(sections, func(s profileSection) bool { return s.Name == name })
	if i < 0 {
		return profileSection{}, false
	}
	return sections[i], true
}

func aboutFields() []profileField {
	return []profileField{
		{
			Name: "description", Label: "Description", Kind: "lines", Max: 4000, member: "description",
			get: func(p shop.Profile) string { return p.Description },
			set: func(c *shop.ProfileChange, value string) { c.Description = &value },
		},
		{
			Name: "tags", Label: "Tags", Hint: "Separate tags with commas.", Kind: "text", member: "tags",
			get: func(p shop.Profile) string { return strings.Join(p.Tags, ", ") },
			set: func(c *shop.ProfileChange, value string) { c.Tags = new(splitTags(value)) },
		},
	}
}

// splitTags splits a list that is separated by commas. It skips empty items.
func splitTags(text string) (tags []string) {
	for tag := range strings.SplitSeq(text, ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

func factFields() []profileField {
	return []profileField{
		{
			Name: "breed", Label: "Breed", Kind: "text", Max: 100, member: "breeds",
			get: func(p shop.Profile) string { return breed(p, 0) },
			set: func(c *shop.ProfileChange, value string) { c.Breeds = &[]string{}; addBreed(c, value) },
		},
		{
			Name: "second-breed", Label: "Second breed", Kind: "text", Max: 100,
			get: func(p shop.Profile) string { return breed(p, 1) },
			set: addBreed,
		},
		{
			Name: "mixed", Label: "Mixed breed", Kind: "select", Options: answerOptions("Not stated", "Yes", "No"), member: "mixed",
			get: func(p shop.Profile) string { return answerValue(p.Mixed) },
			set: func(c *shop.ProfileChange, value string) { c.Mixed = new(parseAnswer(value)) },
		},
		{
			Name: "sex", Label: "Sex", Kind: "select", Options: namedOptions(shop.Sexes()), member: "sex",
			get: func(p shop.Profile) string { return string(p.Sex) },
			set: func(c *shop.ProfileChange, value string) { c.Sex = new(shop.Sex(value)) },
		},
		{
			Name: "birth-date", Label: "Date of birth", Kind: "date", member: "birthDate",
			get: func(p shop.Profile) string { return p.BirthDate },
			set: func(c *shop.ProfileChange, value string) { c.BirthDate = &value },
		},
		{
			Name: "birth-date-estimated", Label: "The date of birth is", Kind: "select", Options: answerOptions("Not stated", "Estimated", "Exact"), member: "birthDateEstimated",
			get: func(p shop.Profile) string { return answerValue(p.BirthDateEstimated) },
			set: func(c *shop.ProfileChange, value string) { c.BirthDateEstimated = new(parseAnswer(value)) },
		},
		{
			Name: "size", Label: "Size", Kind: "select", Options: namedOptions(shop.Sizes()), member: "size",
			get: func(p shop.Profile) string { return string(p.Size) },
			set: func(c *shop.ProfileChange, value string) { c.Size = new(shop.Size(value)) },
		},
		{
			Name: "color", Label: "Colour", Kind: "text", Max: 100, member: "color",
			get: func(p shop.Profile) string { return p.Color },
			set: func(c *shop.ProfileChange, value string) { c.Color = &value },
		},
		{
			Name: "arrival-date", Label: "Date of arrival", Kind: "date", member: "arrivalDate",
			get: func(p shop.Profile) string { return p.ArrivalDate },
			set: func(c *shop.ProfileChange, value string) { c.ArrivalDate = &value },
		},
	}
}

func breed(p shop.Profile, i int) string {
	if i < len(p.Breeds) {
		return p.Breeds[i]
	}
	return ""
}

func addBreed(c *shop.ProfileChange, value string) {
	if value != "" {
		*c.Breeds = append(*c.Breeds, value)
	}
}

func priceFields() []profileField {
	return []profileField{
		{
			Name: "amount", Label: "Price", Hint: "Such as 250 or 99.50. Leave it empty for no price.", Kind: "text", Mode: "decimal", Max: 14, member: "price.amount",
			get: func(p shop.Profile) string { return p.Price.Amount },
			set: func(c *shop.ProfileChange, value string) { c.Price = &shop.Price{Amount: value} },
		},
		{
			Name: "currency", Label: "Currency", Hint: "Three letters, such as EUR.", Kind: "text", Max: 3, member: "price.currency",
			get: func(p shop.Profile) string { return p.Price.Currency },
			set: func(c *shop.ProfileChange, value string) {
				if c.Price.Amount != "" {
					c.Price.Currency = strings.ToUpper(value)
				}
			},
		},
		{
			Name: "contact-url", Label: "Where to ask", Hint: "A web page (https:) or an address (mailto:).", Kind: "text", Mode: "url", Max: 500, member: "contactUrl",
			get: func(p shop.Profile) string { return p.ContactURL },
			set: func(c *shop.ProfileChange, value string) { c.ContactURL = &value },
		},
	}
}

// traitLabels are the traits in words.
var traitLabels = map[shop.Trait]string{
	shop.Neutered: "Neutered", shop.Vaccinated: "Vaccinated", shop.HouseTrained: "House-trained", shop.SpecialNeeds: "Special needs",
	shop.GoodWithDogs: "Good with dogs", shop.GoodWithCats: "Good with cats", shop.GoodWithChildren: "Good with children",
}

func traitFields() (fields []profileField) {
	for _, trait := range shop.AllTraits() {
		fields = append(fields, profileField{
			Name: trait.String(), Label: traitLabels[trait], Kind: "tabs", Options: answerOptions("Unknown", "Yes", "No"), member: "traits",
			get: func(p shop.Profile) string { return answerValue(p.Traits[trait]) },
			set: func(c *shop.ProfileChange, value string) {
				if c.Traits == nil {
					c.Traits = map[shop.Trait]shop.Answer{}
				}
				c.Traits[trait] = parseAnswer(value)
			},
		})
	}
	return fields
}

func internalFields() []profileField {
	return []profileField{
		{
			Name: "microchip", Label: "Microchip", Kind: "text", Max: 15, member: "microchip",
			get: func(p shop.Profile) string { return p.Microchip },
			set: func(c *shop.ProfileChange, value string) { c.Microchip = new(strings.ReplaceAll(value, " ", "")) },
		},
		{
			Name: "location", Label: "Location", Hint: "Where the animal is, such as a kennel.", Kind: "text", Max: 100, member: "location",
			get: func(p shop.Profile) string { return p.Location },
			set: func(c *shop.ProfileChange, value string) { c.Location = &value },
		},
		{
			Name: "notes", Label: "Notes", Kind: "lines", Max: 4000, member: "notes",
			get: func(p shop.Profile) string { return p.Notes },
			set: func(c *shop.ProfileChange, value string) { c.Notes = &value },
		},
	}
}

// answerValue returns the value of an answer in a form.
func answerValue(answer shop.Answer) string {
	return map[shop.Answer]string{shop.Yes: "yes", shop.No: "no"}[answer]
}

func parseAnswer(value string) shop.Answer {
	return map[string]shop.Answer{"yes": shop.Yes, "no": shop.No}[value]
}

func answerOptions(unknown, yes, no string) []profileOption {
	return []profileOption{{"", unknown}, {"yes", yes}, {"no", no}}
}

// namedOptions returns a choice for each value, and one for none of them.
func namedOptions[T ~string](values []T) []profileOption {
	options := []profileOption{{"", "Not stated"}}
	for _, value := range values {
		options = append(options, profileOption{string(value), capitalized(string(value))})
	}
	return options
}

// profileForm is the template data for the form of a section.
type profileForm struct {
	Pet      shop.Pet
	Section  profileSection
	Fields   []profileFormField
	Tag      string // the entity tag of the section when the form was shown
	Conflict bool   // whether somebody has changed the section in the meantime; the fields then have both values
}

// profileFormField is a field of a form with the value that the user has entered.
type profileFormField struct {
	profileField
	Value   string
	Problem string
	Theirs  string // the current value, if Differs is set
	Differs bool   // whether somebody else has changed the field to another value
}

// TheirText returns the current value in words, if somebody else has changed it.
func (f profileFormField) TheirText() string {
	for _, option := range f.Options {
		if option.Value == f.Theirs {
			return option.Label
		}
	}
	return f.Theirs
}

// Problems reports whether a field has a problem.
func (f profileForm) Problems() bool {
	return slices.ContainsFunc(f.Fields, func(field profileFormField) bool { return field.Problem != "" })
}

// Path returns the path to which the form is sent.
func (f profileForm) Path() string { return f.Section.Path(f.Pet.ID) }

// section returns the section in the path. It fails with not_found if there is none.
func (x *exchange) section() (profileSection, error) {
	section, found := profileSectionNamed(x.r.PathValue("section"))
	if !found {
		return section, errPageNotFound()
	}
	return section, nil
}

// editProfile shows the form of a section.
func (p *Pages) editProfile(x *exchange, id int64) error {
	section, err := x.section()
	if err == nil && section.Name == publishSection {
		err = errPageNotFound()
	}
	if err != nil {
		return err
	}
	profile, err := p.Service.Profile(x.r.Context(), id)
	if err != nil {
		return err
	}
	return x.showProfileForm(http.StatusOK, newProfileForm(section, profile, section.values(profile)))
}

func newProfileForm(section profileSection, profile shop.Profile, values map[string]string) profileForm {
	form := profileForm{Pet: profile.Pet, Section: section, Tag: section.tag(profile)}
	for _, field := range section.Fields {
		form.Fields = append(form.Fields, profileFormField{profileField: field, Value: values[field.Name]})
	}
	return form
}

// showProfileForm responds with the form of a section, either in its place or as a page.
func (x *exchange) showProfileForm(status int, form profileForm) error {
	if !x.partial() {
		return x.show(status, "profile-edit", x.word(form.Section.Title)+" of "+form.Pet.Name, form)
	}
	if x.r.Method == http.MethodPost {
		x.w.Header().Set("HX-Retarget", "#profile-"+form.Section.Name)
		x.w.Header().Set("HX-Reswap", "outerHTML")
	}
	return x.showFragment("profile-form", form)
}

// saveProfile changes the members of a section, unless somebody has changed one of them since the form was shown. With the
// field undoField, it takes such a change back.
func (p *Pages) saveProfile(x *exchange, id int64) error {
	section, err := x.section()
	if err != nil {
		return err
	}
	if x.r.PostForm.Has(undoField) {
		return x.undoProfile(section, id)
	}
	values := section.read(x)
	if values["amount"] != "" && values["currency"] == "" {
		values["currency"] = p.Service.CurrentSettings().Currency
	}
	change := section.change(values)
	if problems := change.Problems(p.Service.Now()); len(problems) > 0 {
		now, err := p.Service.Profile(x.r.Context(), id)
		if err != nil {
			return err
		}
		form := newProfileForm(section, now, values)
		form.Tag = x.field("tag")
		form.showProblems(problems)
		return x.showProfileForm(http.StatusUnprocessableEntity, form)
	}
	var before shop.Profile
	saved, back, err := saveUndoably(x, section.Path(id), func(after shop.Profile) savedChange { return section.saved(before, after) },
		func(by shop.Caller) (shop.Profile, error) {
			return p.Service.UpdateProfile(x.r.Context(), by, id, change, func(now shop.Profile) bool {
				before = now
				return section.tag(now) == x.field("tag")
			})
		})
	switch {
	case err == nil:
		x.flashAbout(petTopic(id), back, "%s", saved.Text)
		return x.showSavedSection(section, id)
	case section.Name == publishSection:
		return x.showChangedPet(id, explainConflict(err, "Someone else has changed this in the meantime, so nothing was saved. Check it and try again."))
	case shop.AsError(err).Code == shop.PreconditionFailed:
		form := newProfileForm(section, before, values)
		form.showConflict(before)
		return x.showProfileForm(http.StatusConflict, form)
	}
	return err
}

// undoProfile takes the change of a section back that the form names.
func (x *exchange) undoProfile(section profileSection, id int64) error {
	var before shop.Profile
	err := x.loadUndo()
	if err == nil {
		var name string
		name, err = onceKeeping(x, "", func(after shop.Profile) string { return after.Pet.Name }, func(by shop.Caller) (shop.Profile, error) {
			return x.Service.UpdateProfile(x.r.Context(), by, id, section.change(section.read(x)), func(now shop.Profile) bool {
				before = now
				return section.tag(now) == x.field("tag")
			})
		})
		if err == nil {
			x.flashAbout(petTopic(id), nil, "%s is as before.", name)
		}
	}
	return x.finishInPlace(undoError(err, before.Pet.Name), petPath(id), petTopic(id))
}

// read returns the values of the section's fields in the form that was sent.
func (s profileSection) read(x *exchange) map[string]string {
	values := map[string]string{}
	for _, field := range s.Fields {
		values[field.Name] = strings.TrimSpace(x.field(field.Name))
	}
	return values
}

// saved describes a change of the section.
func (s profileSection) saved(before, after shop.Profile) savedChange {
	change := savedChange{Text: after.Pet.Name + " was saved."}
	if s.Name == publishSection {
		change.Text = map[bool]string{true: after.Pet.Name + " is published.", false: after.Pet.Name + " is no longer published."}[after.Published]
	}
	if s.tag(before) != s.tag(after) {
		change.Undo = s.values(before)
		change.Undo["tag"] = s.tag(after)
	}
	return change
}

// showSavedSection responds after a section was saved.
func (x *exchange) showSavedSection(section profileSection, id int64) error {
	if !x.partial() {
		return x.redirect(petPath(id))
	}
	page, err := x.loadPetDetail(id)
	if err != nil {
		return err
	}
	page.SavedSection = section.Name
	return x.showFragment("pet-detail", page)
}

// showConflict adds the current values to a form. If the user saves again, the current values are overwritten.
func (f *profileForm) showConflict(current shop.Profile) {
	f.Conflict = true
	for i, field := range f.Fields {
		f.Fields[i].Theirs = field.get(current)
		f.Fields[i].Differs = f.Fields[i].Theirs != field.Value
	}
}

// showProblems adds the problems to the fields that they are about.
func (f *profileForm) showProblems(problems shop.Problems) {
	for member, reason := range problems.All() {
		i := slices.IndexFunc(f.Fields, func(field profileFormField) bool { return field.member == member })
		f.Fields[max(i, 0)].Problem = sentence(pageReason(reason))
	}
}

// pageReason returns the reason of a problem in the words of the pages, on which every value is a text.
func pageReason(reason string) string {
	return strings.ReplaceAll(strings.ReplaceAll(reason, " as a string", ""), `"`, "")
}

// missingLabels are the members that Profile.Missing names, in words, with the section in which they are edited.
var missingLabels = map[string]missingMember{
	"photos": {"a photo", "photos"}, "description": {"a description", "about"}, "breeds": {"the breed", "facts"}, "sex": {"the sex", "facts"},
	"birthDate": {"the date of birth", "facts"}, "price": {"the price", "price"},
}

// missingMember is a member that a profile lacks.
type missingMember struct{ Label, Section string }

// Missing returns what the profile lacks, in words.
func (d petDetail) Missing() (missing []missingMember) {
	for _, member := range d.Profile.Missing() {
		missing = append(missing, missingLabels[member])
	}
	return missing
}

// petTrait is an answer that a profile gives.
type petTrait struct {
	Label string
	Yes   bool
}

// Traits returns the questions that the profile answers.
func (d petDetail) Traits() (traits []petTrait) {
	for trait, answer := range d.Profile.Traits {
		if answer != shop.Unknown {
			traits = append(traits, petTrait{traitLabels[shop.Trait(trait)], answer == shop.Yes})
		}
	}
	return traits
}

// PublishTag returns the entity tag for the switch that publishes the profile.
func (d petDetail) PublishTag() string {
	section, _ := profileSectionNamed(publishSection)
	return section.tag(d.Profile)
}

// breeds returns the breeds in words.
func breeds(p shop.Profile) string { return web.Breeds(p.Breeds, p.Mixed) }

// age returns how old an animal is in words, or "" if that is not known.
func age(p shop.Profile, today shop.Date) string {
	return web.Age(p.BirthDate, p.BirthDateEstimated, today)
}
