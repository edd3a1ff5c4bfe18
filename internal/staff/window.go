package staff

import (
	"net/http"
	"strings"

	"animalstore/internal/shop"
)

// windowForm holds the fields of the form with the settings of the shop window.
type windowForm struct {
	Enabled                      bool
	Title, Introduction, Origins string // each origin on a line
}

func newWindowForm(w shop.Window) windowForm {
	return windowForm{w.Enabled, w.Title, w.Introduction, strings.Join(w.EmbedOrigins, "\n")}
}

// windowPage is the template data for the part of the settings that is about the shop window.
type windowPage struct {
	Form     windowForm
	Theirs   *windowForm       // what somebody else has saved in the meantime, or nil
	Tag      string            // the tag of the window's settings when the form was shown
	Problems map[string]string // what is wrong with a field, by the name of its member
	Snippet  string            // the HTML with which another site shows the window
	Base     string            // the address of the window, or its path if there is no public URL
}

// windowTag returns a tag that changes whenever the settings of the window change.
func windowTag(w shop.Window) string { return shop.Settings{Window: w}.ETag() }

func (p *Pages) windowPage(s shop.Settings) *windowPage {
	address := p.At("/window")
	if p.PublicURL != "" {
		address = shop.PhotoBase(p.PublicURL) + "/window"
	}
	name := s.Window.Title
	if name == "" {
		name = "Animals"
	}
	snippet := `<iframe src="` + address + `?embed=1" title="` + escapeAttribute(name) + `" width="100%" height="900" loading="lazy" style="border:0"></iframe>`
	return &windowPage{Form: newWindowForm(s.Window), Tag: windowTag(s.Window), Base: address, Snippet: snippet}
}

func escapeAttribute(text string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;").Replace(text)
}

func (x *exchange) readWindowForm() windowForm {
	var origins []string
	for _, line := range strings.FieldsFunc(x.field("origins"), func(r rune) bool { return r == '\n' || r == ',' }) {
		if line = strings.TrimSuffix(strings.TrimSpace(line), "/"); line != "" {
			origins = append(origins, line)
		}
	}
	introduction := strings.TrimSpace(strings.ReplaceAll(x.field("introduction"), "\r\n", "\n"))
	return windowForm{x.field("enabled") == "yes", strings.TrimSpace(x.field("title")), introduction, strings.Join(origins, "\n")}
}

func (f windowForm) change() shop.SettingsChange {
	origins := []string(nil)
	if f.Origins != "" {
		origins = strings.Split(f.Origins, "\n")
	}
	return shop.SettingsChange{Window: shop.WindowChange{Enabled: &f.Enabled, Title: &f.Title, Introduction: &f.Introduction, EmbedOrigins: &origins}}
}

// saveWindow changes the settings of the shop window, unless somebody else has changed them since the page was shown.
func (p *Pages) saveWindow(x *exchange) error {
	form, tag := x.readWindowForm(), x.field("tag")
	show := func(status int, problems map[string]string, theirs *shop.Window) error {
		settings, err := p.Service.Settings(x.r.Context())
		if err != nil {
			return err
		}
		page := settingsPage{Form: newSettingsForm(settings), Tag: settingsTag(settings), Window: p.windowPage(settings)}
		page.Window.Form, page.Window.Tag, page.Window.Problems = form, tag, problems
		if theirs != nil {
			page.Window.Theirs, page.Window.Tag = new(newWindowForm(*theirs)), windowTag(*theirs)
		}
		return x.showSettings(status, page)
	}
	problems := map[string]string{}
	for member, reason := range form.change().Problems().All() {
		problems[strings.TrimPrefix(member, "window.")] = sentence(reason)
	}
	if len(problems) > 0 {
		return show(http.StatusUnprocessableEntity, problems, nil)
	}
	var before shop.Settings
	saved, back, err := saveUndoably(x, "/staff/settings/undo", func(after shop.Settings) savedChange {
		change := savedSettings(before, after)
		switch {
		case before.Window.Enabled == after.Window.Enabled:
			change.Text = "The shop window was saved."
		case after.Window.Enabled:
			change.Text = "The shop window is on."
		default:
			change.Text = "The shop window is off."
		}
		change.Text = p.word(change.Text)
		return change
	}, func(by shop.Caller) (shop.Settings, error) {
		return p.Service.UpdateSettings(x.r.Context(), by, form.change(), func(now shop.Settings) bool {
			before = now
			return windowTag(now.Window) == tag
		})
	})
	switch {
	case err == nil:
		x.flashAbout("settings", back, "%s", saved.Text)
		return x.redirect("/staff/settings")
	case shop.AsError(err).Code == shop.PreconditionFailed:
		return show(http.StatusConflict, nil, &before.Window)
	}
	return err
}

// previewWindow shows the shop window as it would be if it were on.
func (p *Pages) previewWindow(x *exchange) error {
	if p.Window == nil {
		return errPageNotFound()
	}
	x.releaseLimits() // the window has its own
	return p.Window(x.w, x.r)
}
