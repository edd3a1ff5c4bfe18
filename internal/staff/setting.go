package staff

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// Backups says what is known about the scheduled backups.
type Backups struct {
	Last     time.Time // when the newest backup was made; zero if there is none yet
	Every    time.Duration
	Problems int // how many problems were found in the newest backup, if this process has made it
}

// IsLate reports whether the newest backup is much older than it should be.
func (b Backups) IsLate(now time.Time) bool { return !b.Last.IsZero() && now.Sub(b.Last) > 2*b.Every }

// every says in words how often something happens.
func every(interval time.Duration) string {
	switch {
	case interval%(24*time.Hour) == 0:
		return "every " + strings.TrimPrefix(count(int(interval/(24*time.Hour)), "day"), "1 ")
	case interval%time.Hour == 0:
		return "every " + strings.TrimPrefix(count(int(interval/time.Hour), "hour"), "1 ")
	}
	return "every " + strings.TrimPrefix(count(int(interval/time.Minute), "minute"), "1 ")
}

// settingsPage is the template data for the settings.
type settingsPage struct {
	Form     settingsForm      // the values as the user entered them
	Theirs   *settingsForm     // what somebody else has saved in the meantime, or nil
	Tag      string            // the tag of the shop's settings when the form was shown
	Problems map[string]string // what is wrong with a field, by the name of its member

	Window   *windowPage
	Version  string
	Unready  string   // why the service is not ready, or "" if it is
	Backups  *Backups // nil if no backups are scheduled
	OnServer bool
	Preset   string // the time zone that applies if the form names none
}

// settingsForm holds the fields of the form as texts.
type settingsForm struct{ Name, Phone, Email, Address, Website, Currency, TimeZone, Kind string }

func newSettingsForm(s shop.Settings) settingsForm {
	return settingsForm{s.Name, s.Phone, s.Email, strings.Join(s.Address, "\n"), s.Website, s.Currency, s.TimeZone, string(s.Kind)}
}

// settingsField is a text field of the form.
type settingsField struct {
	Name, Label, Type, Autocomplete, Placeholder, Hint string
	Max                                                int
	Wide                                               bool
	Value, Problem                                     string
	Theirs                                             *string // what somebody else has saved, if that differs
}

// Fields returns the text fields of the form in their order. A field without a type has several lines.
func (p settingsPage) Fields() []settingsField {
	fields := []struct {
		settingsField
		member string
		value  func(settingsForm) string
	}{
		{settingsField{Name: "name", Label: "Name", Type: "text", Autocomplete: "organization", Max: 200, Wide: true, Hint: "Shown on every page and on receipts."}, "name",
			func(f settingsForm) string { return f.Name }},
		{settingsField{Name: "phone", Label: "Phone", Type: "tel", Autocomplete: "tel", Max: 200}, "phone", func(f settingsForm) string { return f.Phone }},
		{settingsField{Name: "email", Label: "E-mail", Type: "email", Autocomplete: "email", Max: 200}, "email", func(f settingsForm) string { return f.Email }},
		{settingsField{Name: "address", Label: "Address", Autocomplete: "street-address", Max: 1010, Wide: true, Hint: "Up to 5 lines."}, "address",
			func(f settingsForm) string { return f.Address }},
		{settingsField{Name: "website", Label: "Website", Type: "url", Autocomplete: "url", Placeholder: "https://", Max: 500, Wide: true}, "website",
			func(f settingsForm) string { return f.Website }},
		{settingsField{Name: "currency", Label: "Currency", Type: "text", Placeholder: "EUR", Max: 3, Hint: "Three letters, for amounts without a currency."}, "currency",
			func(f settingsForm) string { return f.Currency }},
		{settingsField{Name: "time-zone", Label: "Time zone", Type: "text", Placeholder: p.Preset, Max: 200, Hint: "Decides when a day begins, such as Europe/Berlin."}, "timeZone",
			func(f settingsForm) string { return f.TimeZone }},
	}
	list := make([]settingsField, len(fields))
	for i, field := range fields {
		field.Value, field.Problem = field.value(p.Form), p.Problems[field.member]
		if p.Theirs != nil && field.value(*p.Theirs) != field.Value {
			field.Theirs = new(field.value(*p.Theirs))
		}
		list[i] = field.settingsField
	}
	return list
}

// settingsTag returns a tag that changes whenever the part of the settings changes that the page shows.
func settingsTag(s shop.Settings) string {
	s.Window = shop.Window{}
	return s.ETag()
}

func (p *Pages) settings(x *exchange) error {
	settings, err := p.Service.Settings(x.r.Context())
	if err != nil {
		return err
	}
	return x.showSettings(http.StatusOK, settingsPage{Form: newSettingsForm(settings), Tag: settingsTag(settings), Window: p.windowPage(settings)})
}

func (x *exchange) showSettings(status int, page settingsPage) error {
	if page.Window == nil {
		settings, err := x.Service.Settings(x.r.Context())
		if err != nil {
			return err
		}
		page.Window = x.windowPage(settings)
	}
	if err := x.Service.Ready(x.r.Context()); err != nil {
		page.Unready = shop.AsError(err).Message
	}
	page.Version, page.OnServer, page.Preset = x.Version, x.OnServer, x.Service.PresetLocation().String()
	if x.Backups != nil {
		page.Backups = new(x.Backups())
	}
	return x.show(status, "settings", "Settings", page)
}

// readSettingsForm reads the form. Lines of the address that are empty are left out.
func (x *exchange) readSettingsForm() settingsForm {
	field := func(name string) string { return strings.TrimSpace(x.field(name)) }
	var lines []string
	for line := range strings.Lines(field("address")) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return settingsForm{
		field("name"), field("phone"), field("email"), strings.Join(lines, "\n"), field("website"), strings.ToUpper(field("currency")), field("time-zone"), field("kind"),
	}
}

// change returns the change of the settings that the form describes.
func (f settingsForm) change() shop.SettingsChange {
	address := []string(nil)
	if f.Address != "" {
		address = strings.Split(f.Address, "\n")
	}
	return shop.SettingsChange{
		Name: &f.Name, Phone: &f.Phone, Email: &f.Email, Address: &address, Website: &f.Website, Currency: &f.Currency, TimeZone: &f.TimeZone,
		Kind: new(shop.Kind(f.Kind)),
	}
}

// saveSettings changes the settings, unless somebody else has changed them since the page was shown.
func (p *Pages) saveSettings(x *exchange) error {
	page := settingsPage{Form: x.readSettingsForm(), Tag: x.field("tag"), Problems: map[string]string{}}
	for member, reason := range page.Form.change().Problems().All() {
		page.Problems[member] = sentence(reason)
	}
	if len(page.Problems) > 0 {
		return x.showSettings(http.StatusUnprocessableEntity, page)
	}
	var before shop.Settings
	saved, back, err := saveUndoably(x, "/staff/settings/undo", func(after shop.Settings) savedChange { return savedSettings(before, after) },
		func(by shop.Caller) (shop.Settings, error) {
			return p.Service.UpdateSettings(x.r.Context(), by, page.Form.change(), func(now shop.Settings) bool {
				before = now
				return settingsTag(now) == page.Tag
			})
		})
	switch {
	case err == nil:
		x.flashAbout("settings", back, "%s", saved.Text)
		return x.redirect("/staff/settings")
	case shop.AsError(err).Code == shop.PreconditionFailed:
		page.Theirs, page.Tag = new(newSettingsForm(before)), settingsTag(before)
		return x.showSettings(http.StatusConflict, page)
	}
	return err
}

// savedSettings describes a change of the settings.
func savedSettings(before, after shop.Settings) savedChange {
	change := savedChange{Text: "The settings were saved."}
	if before.ETag() != after.ETag() {
		text, err := json.Marshal(before)
		if err != nil {
			panic(err) // cannot happen, because settings consist of texts
		}
		change.Undo = map[string]string{"now": after.ETag(), "before": string(text)}
	}
	return change
}

// undoSettings takes a change of the settings back, unless they have changed since.
func (p *Pages) undoSettings(x *exchange) error {
	err := x.loadUndo()
	if err == nil {
		before := shop.DefaultSettings()
		if err := json.Unmarshal([]byte(x.field("before")), &before); err != nil {
			return errUnreadableForm()
		}
		_, err = once(x, func(by shop.Caller) (shop.Settings, error) {
			return p.Service.UpdateSettings(x.r.Context(), by, before.Change(), func(now shop.Settings) bool { return now.ETag() == x.field("now") })
		})
	}
	if err == nil {
		x.flashAbout("settings", nil, "The settings are as before.")
	} else if err = x.flashError(undoError(err, "the settings")); err != nil {
		return err
	}
	return x.redirect("/staff/settings")
}
