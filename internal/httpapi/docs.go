package httpapi

import (
	"net/url"
	"path"
	"strings"
	"sync"

	"animalstore/internal/apidocs"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// docs contains the pages for developers: the API reference, in which requests can be tried, and the guides.
type docs struct {
	// site returns the pages. It renders them when the first of them is requested, because rendering takes longer than
	// the rest of a node's start, and needs twice as much memory.
	site          func() (*docsSite, error)
	contentPolicy string
}

type docsSite struct {
	pages map[string]func() *web.StaticFile // by their path below /docs
	files map[string]*web.StaticFile
}

func newDocs(c Config) *docs {
	return &docs{sync.OnceValues(func() (*docsSite, error) { return newDocsSite(c) }), docsContentPolicy(c.PublicURL, c.StagingURL)}
}

// newDocsSite renders the site. It fails only if the program was built incorrectly.
func newDocsSite(c Config) (*docsSite, error) {
	site, err := apidocs.Load()
	if err != nil {
		return nil, err
	}
	d := &docsSite{map[string]func() *web.StaticFile{}, map[string]*web.StaticFile{}}
	values := apidocs.Values{PublicURL: c.PublicURL, StagingURL: c.StagingURL, Staging: c.Service.Environment() == shop.Staging}
	for path, page := range site.Pages {
		d.pages[path] = sync.OnceValue(func() *web.StaticFile { return web.NewStaticFile("text/html; charset=utf-8", page.Fill(values)) })
	}
	types := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	for name, content := range site.Files {
		d.files[name] = web.NewStaticFile(types[path.Ext(name)], content)
	}
	return d, nil
}

// docsContentPolicy returns a Content-Security-Policy for the documentation pages. It lets the pages load files only
// from this server, and send requests only to this server and to the given servers.
func docsContentPolicy(servers ...string) string {
	connect := []string{"'self'"}
	for _, server := range servers {
		if u, err := url.Parse(server); err == nil && u.Host != "" {
			connect = append(connect, u.Scheme+"://"+u.Host)
		}
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
		"connect-src " + strings.Join(connect, " ") + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

func (a *API) getReference(x *exchange) error { return a.sendDocsPage(x, "") }

// getDocsFile serves the list of guides, and the scripts and style sheets that the documentation pages use.
func (a *API) getDocsFile(x *exchange) error {
	if x.params[0] == "guides" {
		return a.sendDocsPage(x, "guides")
	}
	site, err := a.docs.site()
	if err != nil {
		return err
	}
	if file := site.files[x.params[0]]; file != nil {
		x.sendFile(file)
		return nil
	}
	return errNoSuchPath()
}

func (a *API) getGuide(x *exchange) error { return a.sendDocsPage(x, "guides/"+x.params[0]) }

// sendDocsPage sends a page of the documentation. It fails if there is no page with this name.
func (a *API) sendDocsPage(x *exchange, name string) error {
	site, err := a.docs.site()
	if err != nil {
		return err
	}
	page := site.pages[name]
	if page == nil {
		return errNoSuchPath()
	}
	x.w.Header().Set("Content-Security-Policy", a.docs.contentPolicy)
	x.w.Header().Set("Referrer-Policy", "no-referrer")
	x.sendFile(page())
	return nil
}
