package staff

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"animalstore/internal/shop"
)

//go:embed templates/*.html
var templateFiles embed.FS

// templates holds a template for each page and the fragments that pages share. The template for a page
// includes the layout. Templates are parsed on first use, because together they take as much memory as the
// rest of the service and many nodes never serve a page.
type templates struct {
	pages     map[string]func() (*template.Template, error)
	fragments func() (*template.Template, error)
}

// newTemplates parses the shared templates, which are the files whose names begin with an underscore.
func newTemplates(p *Pages) (*templates, error) {
	shared, err := template.New("").Funcs(p.templateFuncs()).ParseFS(templateFiles, "templates/_*.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templateFiles, "templates/[a-z]*.html")
	if err != nil {
		return nil, err
	}
	t := &templates{map[string]func() (*template.Template, error){}, sync.OnceValues(shared.Clone)}
	for _, name := range names {
		t.pages[strings.TrimSuffix(path.Base(name), ".html")] = sync.OnceValues(func() (*template.Template, error) {
			page, err := shared.Clone()
			if err != nil {
				return nil, err
			}
			return page.ParseFS(templateFiles, name)
		})
	}
	return t, nil
}

func (t *templates) page(w io.Writer, name string, v *view) error {
	page, err := t.pages[name]()
	if err != nil {
		return err
	}
	return page.ExecuteTemplate(w, "layout", v)
}

func (t *templates) fragment(w io.Writer, name string, v *view) error {
	fragments, err := t.fragments()
	if err != nil {
		return err
	}
	return fragments.ExecuteTemplate(w, name, v)
}

// view is the data passed to a template. The layout uses the named fields, and Data holds the data for the
// page itself.
type view struct {
	Title     string
	Page      string
	Path      string // the path and query of the page without the public prefix
	Theme     string // the theme that the user has chosen, or "" to follow the system
	Staging   bool
	KeyName   string        // empty if nobody is signed in
	Store     shop.Settings // what the shop says about itself; empty if nobody is signed in
	LiveFrom  int64         // the position in the event feed before the page was rendered
	Now       time.Time
	Zone      string // the name of the shop's time zone, or "" if it has none that browsers know
	Data      any
	RequestID string
	Replace   bool     // whether a row replaces the one on the page
	Message   *message // what the previous request did, or nil
	section   string
	principal shop.Principal
}

// With returns a copy of the view with different page data.
func (v view) With(data any) *view {
	v.Data = data
	return &v
}

// maxRowAddress is the maximum length of an address that is repeated in each row of a list.
const maxRowAddress = 1024

// Back returns the address to which the forms in the rows of a list return. It contains the filters of the list, unless
// they are too long to repeat in each row.
func (v *view) Back() string {
	if len(v.Path) > maxRowAddress {
		path, _, _ := strings.Cut(v.Path, "?")
		return path
	}
	return v.Path
}

// May reports whether the user's key grants a scope.
func (v *view) May(scope string) bool { return v.principal.HasScope(shop.Scope(scope)) }

func (x *exchange) view(title string, data any) *view {
	view := &view{
		Title: title, Page: x.route.page, Staging: x.Service.Environment() == shop.Staging, Now: x.Service.Now(), Data: data,
		RequestID: x.id, Path: x.r.URL.RequestURI(), Theme: x.theme(), principal: x.principal,
	}
	if x.r.Method != http.MethodGet { // the request's URL is where a form is sent, not the URL of a page
		view.Path = "/"
	}
	if zone := x.Service.Location().String(); zone != "Local" {
		view.Zone = zone
	}
	if rest, ok := strings.CutPrefix(x.r.URL.Path, "/staff/"); ok {
		view.section, _, _ = strings.Cut(rest, "/")
	}
	if x.principal.Actor() != "" {
		view.KeyName, view.LiveFrom, view.Store = personName(x.principal.ID(), x.principal.Name()), x.liveFrom, x.Service.CurrentSettings()
	}
	return view
}

// templateFuncs returns the functions that templates can call.
func (p *Pages) templateFuncs() template.FuncMap {
	return template.FuncMap{
		"url": func(path string, args ...any) string {
			if len(args) > 0 { // without arguments, a percent sign in the path is part of an escape, not of a format
				path = fmt.Sprintf(path, args...)
			}
			return p.At(path)
		},
		"static": p.staticURL,
		"icon": func(name string) (template.HTML, error) {
			if icon, ok := p.icons[name]; ok {
				return icon, nil
			}
			return "", fmt.Errorf("there is no icon %q", name)
		},
		"word":            p.word,
		"every":           every,
		"initial":         initial,
		"formatHold":      formatHold,
		"canGoBack":       canGoBack,
		"themes":          func() []theme { return themes },
		"formatTime":      func(t time.Time) string { return formatTime(t.In(p.Service.Location())) },
		"formatClock":     func(t time.Time) string { return t.In(p.Service.Location()).Format("15:04") },
		"noActivityQuery": func() activityQuery { return activityQuery{} },
		"extensions":      func() []holdExtension { return holdExtensions },
		"rfc3339":         func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"timeLeft":        func(until, now time.Time) string { return timeLeft(until.Sub(now)) },
		"categoryName":    categoryName,
		"categoryText":    categoryText,
		"petToken":        petToken,
		"number":          numberHTML,
		"sentence":        sentence,
		"capitalized":     capitalized,
		"contact": func(address string) string {
			return strings.TrimPrefix(strings.TrimPrefix(address, "mailto:"), "https://")
		},
		"dialled": func(phone string) string {
			return strings.Map(func(r rune) rune {
				if r == '+' || '0' <= r && r <= '9' {
					return r
				}
				return -1
			}, phone)
		},
		"breeds": breeds,
		"age":    age,
		"photo":  p.photoSource,
		"add":    func(a, b int) int { return a + b },
		"section": func(name string) profileSection {
			section, _ := profileSectionNamed(name)
			return section
		},
		"importChanges":  importChanges,
		"importDetails":  importDetails,
		"importProblems": p.importProblems,
		"fieldLabel":     p.fieldLabel,
		"fieldGroups":    fieldGroups,
		"count":          countHTML,
		"dict":           dict,
		"scopes":         shop.Scopes,
		"roles":          roleChoices,
		"setupSteps":     func() []string { return setupSteps },
		"roleOf":         roleOf,
		"scopeLabel":     scopeLabel,
		"eventTypes":     shop.EventTypes,
		"statuses":       shop.Statuses,
		"orderStatuses":  shop.OrderStatuses,
		"statusName":     p.statusName,
		"statusWord":     func(status string) string { return p.statusWord(shop.Status(status)) },
	}
}

// dict builds a map from alternating names and values, so that several values can be passed to a template.
func dict(pairs ...any) (map[string]any, error) {
	values := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is not a string", pairs[i])
		}
		values[name] = pairs[i+1]
	}
	return values, nil
}
