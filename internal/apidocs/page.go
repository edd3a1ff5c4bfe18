// Package apidocs renders the pages for developers: the reference, from the OpenAPI document, and the guides, from
// Markdown files in the docs folder.
package apidocs

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"animalstore/api"
	"animalstore/docs"
)

//go:embed templates/*.html static
var files embed.FS

// Site contains all pages. The keys of Pages are paths below /docs. The key "" stands for the reference.
type Site struct {
	Pages   map[string]*Page
	Files   map[string][]byte // scripts and style sheets, by name
	Samples []Sample          // every sample of the reference
}

// Load renders the site, once per process. The result does not depend on the service; Page.Fill inserts the values
// that do. Load fails only if the program was built incorrectly.
func Load() (*Site, error) { return load() }

var load = sync.OnceValues(newSite)

// view is the data for a template.
type view struct {
	Root   string // the relative path from the page to the root of the service, such as "../"
	Title  string
	Path   string
	Groups []*group
	Guides []*guide
	Guide  *guide
	*reference
}

type reference struct {
	Introduction template.HTML
	Schemas      []schema
	Common       []header
}

func newSite() (*Site, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(api.Source(), &file); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	d := document{file.Content[0]}
	groups, err := d.groups()
	if err != nil {
		return nil, err
	}
	shown, err := d.reference()
	if err != nil {
		return nil, err
	}
	var all []*guide
	for _, name := range docs.Guides {
		source, err := docs.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		g, err := newGuide(name, source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, g)
	}
	templates, err := template.New("").Funcs(template.FuncMap{
		"highlight": highlight, "inline": inline, "lower": strings.ToLower, "slot": func(name string) template.HTML { return template.HTML(slots[name]) },
	}).ParseFS(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	site := &Site{Pages: map[string]*Page{}, Files: map[string][]byte{}}
	add := func(path, name string, v view) error {
		v.Path, v.Groups, v.Guides = path, groups, all
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, name, v); err != nil {
			return err
		}
		site.Pages[path] = &Page{b.String()}
		return nil
	}
	if err := add("", "reference.html", view{Title: "API reference", reference: shown}); err != nil {
		return nil, err
	}
	if err := add("guides", "guides.html", view{Root: "../", Title: "Guides"}); err != nil {
		return nil, err
	}
	for _, g := range all {
		if err := add("guides/"+g.Name, "guide.html", view{Root: "../../", Title: g.Title, Guide: g}); err != nil {
			return nil, err
		}
	}
	for _, g := range groups {
		for _, o := range g.Operations {
			for _, s := range o.Samples {
				site.Samples = append(site.Samples, Sample{o.ID, s.Language, s.Code})
			}
		}
	}
	entries, err := files.ReadDir("static")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if site.Files[entry.Name()], err = files.ReadFile("static/" + entry.Name()); err != nil {
			return nil, err
		}
	}
	return site, nil
}

func (d document) reference() (*reference, error) {
	r := &reference{}
	var err error
	if r.Introduction, err = markdown(d.text(d.root, "info", "description")); err != nil {
		return nil, err
	}
	// The headings of the description become subheadings. Their ids get a prefix, because other headings may have the
	// same ids.
	r.Introduction = template.HTML(strings.NewReplacer(`<h2 id="`, `<h3 id="about-`, "</h2>", "</h3>").Replace(string(r.Introduction)))
	if r.Schemas, err = d.schemas(); err != nil {
		return nil, err
	}
	add := func(name string, n *yaml.Node) error {
		description, err := markdown(d.text(n, "description"))
		r.Common = append(r.Common, header{name, description})
		return err
	}
	for _, name := range commonHeaders {
		if err := add(name, d.at(d.root, "paths", "/pets", "get", "responses", "200", "headers", name)); err != nil {
			return nil, err
		}
	}
	for name, node := range members(d.at(d.root, "x-common-headers")) {
		if err := add(name, node); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// slots contains the placeholders in a rendered page, by the name of the value that Page.Fill inserts in their place.
var slots = map[string]string{
	"base": baseURL, "public": "https://public.invalid", "environment": "<i>environment</i>", "server": "<i>server</i>",
}

// Values contains what Page.Fill inserts into a page for a particular service.
type Values struct {
	PublicURL  string // the configured URL of the API; "" if readers know it only from the address of the page
	StagingURL string // the URL of the staging deployment's API; "" if there is none
	Staging    bool   // whether the service is a staging deployment
}

// Page is a rendered page with placeholders for everything that depends on the service.
type Page struct{ content string }

// Fill returns the page for a service. Without a public URL, the page first shows the default address of the API. The
// page's script then replaces this address with the one from which the page was loaded.
func (p *Page) Fill(v Values) []byte {
	base, environment, server := v.PublicURL, "", ""
	if base == "" {
		base = localURL
	}
	base = template.HTMLEscapeString(base)
	if v.Staging {
		environment = `<p class="staging">Staging</p>`
	}
	if v.StagingURL != "" && v.StagingURL != v.PublicURL {
		server = `<label class="server">Server <select id="server"><option value="">` + base + `</option><option>` +
			template.HTMLEscapeString(v.StagingURL) + `</option></select></label>`
	}
	return []byte(strings.NewReplacer(slots["base"], base, slots["public"], template.HTMLEscapeString(v.PublicURL),
		slots["environment"], environment, slots["server"], server).Replace(p.content))
}
