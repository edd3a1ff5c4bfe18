package httpapi

import (
	"animalstore/internal/shop"
)

func (a *API) getStore(x *exchange) error {
	settings, err := a.Service.Settings(x.r.Context())
	if err != nil {
		return err
	}
	body := encode(settings)
	x.sendResource(shop.EntityTag(body), body)
	return nil
}

func (a *API) updateStore(x *exchange) error {
	change, err := decodeSettingsChange(x.body)
	if err != nil {
		return err
	}
	settings, err := a.Service.UpdateSettings(x.r.Context(), x.caller(), change, preconditions[shop.Settings](x))
	if err != nil {
		return err
	}
	body := encode(settings)
	x.w.Header().Set("ETag", shop.EntityTag(body))
	x.sendJSON(200, body)
	return nil
}

// decodeSettingsChange decodes a merge patch. All members except kind, window and window.enabled can be removed with null.
func decodeSettingsChange(body []byte) (change shop.SettingsChange, err error) {
	o, err := parseObject(body)
	if err != nil {
		return change, err
	}
	change.Name = removableText[string](o, "name", shop.TextProblem)
	change.Phone = removableText[string](o, "phone", shop.TextProblem)
	change.Email = removableText[string](o, "email", shop.EmailProblem)
	change.Address = o.removableTexts("address")
	change.Website = removableText[string](o, "website", shop.WebsiteProblem)
	change.Currency = removableText[string](o, "currency", shop.CurrencyProblem)
	change.TimeZone = removableText[string](o, "timeZone", shop.TimeZoneProblem)
	if o.has("kind") {
		change.Kind = new(shop.Kind(o.checkedText("kind", shop.KindProblem)))
	}
	change.Window = o.windowChange("window")
	o.problems.Merge(change.Problems())
	return change, o.problems.Err()
}

// windowChange returns what an optional member, which must be an object, changes in the window.
func (o *object) windowChange(name string) (change shop.WindowChange) {
	value, given := o.member(name)
	if !given {
		return change
	}
	inner, ok := o.inner(name, value)
	if !ok {
		return change
	}
	if inner.has("enabled") {
		change.Enabled = new(inner.boolean("enabled"))
	}
	change.Title = removableText[string](inner, "title", shop.TextProblem)
	change.Introduction = removableText[string](inner, "introduction", shop.IntroductionProblem)
	change.EmbedOrigins = inner.removableTexts("embedOrigins")
	for member, reason := range inner.problems.All() {
		o.problems.Add(name+"."+member, reason)
	}
	return change
}
