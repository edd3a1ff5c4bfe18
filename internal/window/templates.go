package window

import (
	"bytes"
	"embed"
	"html/template"
	"strings"

	"animalstore/internal/shop"
)

//go:embed templates/*.html
var templateFiles embed.FS

func newTemplates() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"price": formatPrice, "breed": breedOf, "trim": strings.TrimSpace, "lines": func(text string) []string { return strings.Split(text, "\n") },
		"card":  func(v view, pet shop.WindowPet, index int) card { return card{v, pet, index} },
		"phone": func(text string) template.URL { return template.URL("tel:" + phoneNumber(text)) },
		"mail":  func(address string) template.URL { return template.URL("mailto:" + mailAddress(address)) },
	}).ParseFS(templateFiles, "templates/*.html")
}

// view is the data for a page.
type view struct {
	*exchange
	shop.Settings
	Title       string
	Description string
	Canonical   string // the absolute URL of the page, or "" if there is no public URL
	Image       *image // what others show when they link to the page, or nil
	Embed       bool
	Preview     bool
	Today       shop.Date
	Back        bool // whether an error page leads to the window
	Data        any
}

func (x *exchange) view(s shop.Settings, embed bool) view {
	return view{exchange: x, Settings: s, Embed: embed, Preview: x.preview}
}

// Heading is the title of the window.
func (v view) Heading() string {
	switch {
	case v.Window.Title != "":
		return v.Window.Title
	case v.Kind == shop.KindShelter:
		return "Looking for a home"
	}
	return "Our animals"
}

// Sitename is the name of the shop, or the title of the window if it has none.
func (v view) Sitename() string {
	if v.Name != "" {
		return v.Name
	}
	return v.Heading()
}

// PriceWord is what the shop calls its prices.
func (v view) PriceWord() string {
	if v.Kind == shop.KindShelter {
		return "Adoption fee"
	}
	return "Price"
}

// Home returns the path of the first page.
func (v view) Home() string { return v.list(query{embed: v.Embed}) }

// Pet returns the path of an animal's page.
func (v view) Pet(p shop.WindowPet) string {
	return v.at(petPath(p.Pet.ID)) + query{embed: v.Embed}.encode()
}

// Images returns the photos of an animal.
func (v view) Images(p shop.WindowPet) []image {
	images := make([]image, len(p.Photos))
	for i, photo := range p.Photos {
		images[i] = v.image(p, photo)
	}
	return images
}

// Feed returns the absolute URL of the feed, or "" if there is none.
func (v view) Feed() string { return v.absolute(root + "/feed.xml") }

// NoIndex reports whether search engines must not list the page.
func (v view) NoIndex() bool { return v.Preview || v.Service.Environment() == shop.Staging }

// card is an animal in a list.
type card struct {
	view
	WindowPet shop.WindowPet
	Index     int
}

// Cover returns the first photo of the animal, or nil.
func (c card) Cover() *image { return c.cover(c.WindowPet) }

// Line says the most important things about the animal.
func (c card) Line() string { return summary(c.WindowPet, c.Today) }

// Lazy reports whether the photo is probably not in the first view.
func (c card) Lazy() bool { return c.Index >= 4 }

// page renders a page. The sites that the settings name may show it in a frame if embed was asked for.
func (x *exchange) page(status int, name string, v view) (*response, error) {
	body, err := x.render(name, v)
	if err != nil {
		return nil, err
	}
	r, ancestors := newResponse(status, htmlType, bytes.Clone(body)), "'none'"
	if v.Embed && len(v.Window.EmbedOrigins) > 0 {
		ancestors = strings.Join(v.Window.EmbedOrigins, " ")
	}
	r.policy = []string{contentPolicy + ancestors}
	return r, nil
}

func (x *exchange) render(name string, v view) ([]byte, error) {
	var body bytes.Buffer
	err := x.templates.ExecuteTemplate(&body, name, v)
	return body.Bytes(), err
}
