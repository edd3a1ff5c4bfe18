package httpapi

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"animalstore/internal/shop"
)

func (a *API) listProfiles(x *exchange) error {
	list, err := parseProfileList(x.r.URL.RawQuery)
	if err != nil {
		return err
	}
	list.Internal = x.maySeeInternal()
	page, err := a.Service.ListProfiles(x.r.Context(), x.caller(), list)
	if err != nil {
		return err
	}
	query := petFilterQuery(list.PetFilter)
	if list.Published != nil {
		query.Set("published", strconv.FormatBool(*list.Published))
	}
	if list.Sex != "" {
		query.Set("sex", string(list.Sex))
	}
	if list.Size != "" {
		query.Set("size", string(list.Size))
	}
	if len(list.Tags) > 0 {
		query["tag"] = list.Tags
	}
	setPageLinks(a, x, "/profiles", query, list.PageRequest, page, func(p shop.Profile) int64 { return p.Pet.ID })
	// A page is long, so it is copied as little as possible, and its tag is that of a shorter text.
	body, tagged := make([]byte, 0, profileBytes*(len(page.Items)+1)), make([]byte, 0, taggedProfileBytes*(len(page.Items)+1))
	body = append(body, '[')
	for i, profile := range page.Items {
		if i > 0 {
			body = append(body, ',')
		}
		profile = profile.ForKey(list.Internal)
		body, tagged = profile.AppendJSON(body), profile.AppendTagged(tagged)
	}
	body = append(body, ']')
	x.sendCached(cachedResponse{tag: pageTag(tagged, page.More, page.Stopped), body: withNewline(a.photoURLs(body))})
	return nil
}

// profileBytes is the usual length of a profile, and taggedProfileBytes that of the text for its tag.
const profileBytes, taggedProfileBytes = 1536, 768

// maySeeInternal reports whether the key may see and search the internal members of profiles.
func (x *exchange) maySeeInternal() bool { return x.principal.HasScope(shop.PetsWrite) }

// parseProfileList parses the query string in a GET /profiles request.
func parseProfileList(rawQuery string) (list shop.ProfileList, err error) {
	q := parseQuery(rawQuery)
	list.PageRequest = q.pageRequest()
	list.Status = shop.Status(q.checkedText("status", shop.StatusProblem))
	list.CategoryID = q.id("categoryId")
	list.Query = q.checkedText("q", shop.TextProblem)
	list.IDs = q.ids("id", maxIDs)
	list.Published = q.whether("published")
	list.Sex = shop.Sex(q.checkedText("sex", shop.SexProblem))
	list.Size = shop.Size(q.checkedText("size", shop.SizeProblem))
	list.Tags = q.texts("tag", shop.MaxTags, shop.TagProblem)
	return list, q.err
}

func (a *API) getProfile(x *exchange) error {
	id, err := x.pathID("animal")
	if err != nil {
		return err
	}
	profile, err := a.Service.Profile(x.r.Context(), id)
	if err != nil {
		return err
	}
	body := profile.ForKey(x.maySeeInternal()).AppendJSON(nil)
	x.sendResource(shop.EntityTag(body), a.photoURLs(body))
	return nil
}

func (a *API) updateProfile(x *exchange) error {
	change, err := decodeProfileChange(x.body)
	if err != nil {
		return err
	}
	id, err := x.pathID("animal")
	if err != nil {
		return err
	}
	profile, err := a.Service.UpdateProfile(x.r.Context(), x.caller(), id, change, preconditions[shop.Profile](x))
	if err != nil {
		return err
	}
	body := profile.AppendJSON(nil)
	x.w.Header().Set("ETag", shop.EntityTag(body))
	x.sendJSON(200, a.photoURLs(body))
	return nil
}

// decodeProfileChange decodes a merge patch. All members except published can be removed with null.
func decodeProfileChange(body []byte) (change shop.ProfileChange, err error) {
	o, err := parseObject(body)
	if err != nil {
		return change, err
	}
	change = o.profileChange()
	o.problems.Merge(change.Problems(time.Now()))
	return change, o.problems.Err()
}

// profileChange returns what the members of an object change in a profile. The shop package checks the values.
func (o *object) profileChange() (change shop.ProfileChange) {
	if o.has("published") {
		change.Published = new(o.boolean("published"))
	}
	change.Description = removableText[string](o, "description", shop.DescriptionProblem)
	change.Breeds = o.removableTexts("breeds")
	change.Mixed = o.answer("mixed")
	change.Sex = removableText[shop.Sex](o, "sex", shop.SexProblem)
	change.BirthDate = removableText[string](o, "birthDate", shop.DateProblem)
	change.BirthDateEstimated = o.answer("birthDateEstimated")
	change.Size = removableText[shop.Size](o, "size", shop.SizeProblem)
	change.Color = removableText[string](o, "color", shop.ShortTextProblem)
	change.Price = o.price("price")
	change.ArrivalDate = removableText[string](o, "arrivalDate", shop.DateProblem)
	change.Traits, change.NoTraits = o.traits("traits")
	change.Tags = o.removableTexts("tags")
	change.ContactURL = removableText[string](o, "contactUrl", shop.ContactURLProblem)
	change.Microchip = removableText[string](o, "microchip", shop.MicrochipProblem)
	change.Location = removableText[string](o, "location", shop.ShortTextProblem)
	change.Notes = removableText[string](o, "notes", shop.DescriptionProblem)
	return change
}

// removableText returns an optional member, which must be null or a string. It returns nil if the member is missing, and
// an empty text if it is null. The problem function describes what is wrong with the string, or returns "" if it is valid.
func removableText[T ~string](o *object, name string, problem func(string) string) *T {
	switch {
	case !o.has(name):
		return nil
	case o.isNull(name):
		return new(T(""))
	}
	return new(T(o.checkedText(name, problem)))
}

// removableTexts returns an optional member, which must be null or an array of strings. It returns nil if the member is
// missing. The shop package checks the strings.
func (o *object) removableTexts(name string) *[]string {
	value, given := o.member(name)
	switch {
	case !given:
		return nil
	case value.Kind() == 'n':
		return new([]string(nil))
	}
	return new(stringArray[string](o, name, value))
}

// answer returns an optional member, which must be true, false or null. It returns nil if the member is missing.
func (o *object) answer(name string) *shop.Answer {
	value, given := o.member(name)
	switch {
	case !given:
		return nil
	case value.Kind() == 'n':
		return new(shop.Unknown)
	}
	return new(shop.AnswerOf(o.boolean(name)))
}

// inner returns a member that must be an object. Its members are named after this one in problems, as in price.amount.
func (o *object) inner(name string, value jsontext.Value) (*object, bool) {
	inner, err := parseObject(value)
	if err != nil {
		o.problems.Add(name, "must be an object")
	}
	return inner, err == nil
}

// price returns an optional member, which must be null or a price. It returns nil if the member is missing.
func (o *object) price(name string) *shop.Price {
	value, given := o.member(name)
	switch {
	case !given:
		return nil
	case value.Kind() == 'n':
		return &shop.Price{}
	}
	inner, ok := o.inner(name, value)
	if !ok {
		return nil
	}
	var price shop.Price
	for member, text := range map[string]*string{"amount": &price.Amount, "currency": &price.Currency} {
		value, _ := inner.member(member)
		*text, _ = asString(value) // a value that is not a string becomes "", which is invalid
	}
	o.problems.Merge(price.Problems())
	return &price
}

// traits returns the traits in an optional member, which must be null or an object of booleans and nulls. removed is true
// if the member is null.
func (o *object) traits(name string) (traits map[shop.Trait]shop.Answer, removed bool) {
	value, given := o.member(name)
	if !given || value.Kind() == 'n' {
		return nil, given
	}
	inner, ok := o.inner(name, value)
	if !ok {
		return nil, false
	}
	traits = map[shop.Trait]shop.Answer{}
	for _, trait := range shop.AllTraits() {
		if answer := inner.answer(trait.String()); answer != nil {
			traits[trait] = *answer
		}
	}
	for member, reason := range inner.problems.All() {
		o.problems.Add(name+"."+member, reason)
	}
	return traits, false
}
