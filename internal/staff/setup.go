package staff

import (
	"context"
	"net/http"

	"animalstore/internal/shop"
)

// setupPage is the template data for the three steps that set up a new shop.
type setupPage struct {
	Step     string // one of setupSteps
	Settings settingsPage
	People   []shop.Key
	CanFill  bool // whether the shop can be filled with demo data
}

// setupSteps are the names of the steps in their order, as in their addresses.
var setupSteps = []string{"shop", "people", "animals"}

// SetupFields returns the fields that the first step asks for.
func (p settingsPage) SetupFields() (fields []settingsField) {
	for _, field := range p.Fields() {
		switch field.Name {
		case "name", "currency", "time-zone":
			fields = append(fields, field)
		}
	}
	return fields
}

// setup shows the step that the address names.
func (p *Pages) setup(x *exchange) error {
	page := setupPage{Step: x.r.PathValue("step")}
	var err error
	switch page.Step {
	case "shop":
		settings := shop.Settings{}
		settings, err = p.Service.Settings(x.r.Context())
		page.Settings = settingsPage{Form: newSettingsForm(settings), Preset: p.Service.PresetLocation().String()}
	case "people":
		var keys shop.Page[shop.Key]
		keys, err = p.Service.ListKeys(x.r.Context(), shop.PageRequest{Limit: pageSize})
		page.People = keys.Items
	case "animals":
		if p.FillDemo != nil {
			page.CanFill, err = p.Service.IsEmpty(x.r.Context())
		}
	default:
		return errPageNotFound()
	}
	if err != nil {
		return err
	}
	return x.show(http.StatusOK, "setup", "Set up", page)
}

// saveSetup saves what the first step asks for. The other settings stay as they are.
func (p *Pages) saveSetup(x *exchange) error {
	form := x.readSettingsForm()
	change := shop.SettingsChange{Name: &form.Name, Currency: &form.Currency, TimeZone: &form.TimeZone, Kind: new(shop.Kind(form.Kind))}
	page := settingsPage{Form: form, Problems: map[string]string{}, Preset: p.Service.PresetLocation().String()}
	for member, reason := range change.Problems().All() {
		page.Problems[member] = sentence(reason)
	}
	if len(page.Problems) > 0 {
		return x.show(http.StatusUnprocessableEntity, "setup", "Set up", setupPage{Step: "shop", Settings: page})
	}
	if _, err := p.Service.UpdateSettings(x.r.Context(), x.caller(), change, nil); err != nil {
		return err
	}
	return x.redirect("/staff/setup/people")
}

// fillDemo fills an empty shop with demo data.
func (p *Pages) fillDemo(x *exchange) error {
	if p.FillDemo == nil {
		return errPageNotFound()
	}
	if !x.confirmed() {
		return x.ask(question{
			Title: "Fill the shop with demo data?", Button: "Fill with demo data", Back: "/staff/setup/animals",
			Text: "It invents hundreds of animals, orders, three people and five weeks of history. None of it can be taken back in one step, so use this only to try things out.",
		})
	}
	if err := p.FillDemo(x.r.Context()); err != nil {
		return showProblem(err, func(problem string) error { x.flashProblem(problem); return x.redirect("/staff/setup/animals") })
	}
	x.flash("The shop is filled. Everything in it is made up.")
	return x.redirect("/")
}

// needsSetup reports whether the user may set up the shop, and nobody has done anything in it so far.
func (x *exchange) needsSetup(ctx context.Context) (bool, error) {
	settings, err := x.Service.Settings(ctx)
	if err != nil || !x.May(shop.Admin) || settings.ETag() != shop.DefaultSettings().ETag() {
		return false, err
	}
	return x.Service.IsEmpty(ctx)
}

// homeAfterSignIn returns the path of the page that is shown after a sign-in: Today or, in a new shop, the set-up.
func (x *exchange) homeAfterSignIn() (string, error) {
	needed, err := x.needsSetup(x.r.Context())
	if err != nil || !needed {
		return "/", err
	}
	return "/staff/setup/shop", nil
}
