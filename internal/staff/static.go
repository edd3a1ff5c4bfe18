package staff

import (
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"animalstore/internal/web"
)

//go:embed static
var static embed.FS

// files holds the scripts, style sheets and images. The path of each file contains a hash of its content.
type files struct {
	paths  map[string]string // the path of each file, by file name
	byPath map[string]*web.StaticFile
}

func newFiles() (*files, error) {
	f := &files{map[string]string{}, map[string]*web.StaticFile{}}
	types := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png"}
	err := fs.WalkDir(static, "static", func(name string, entry fs.DirEntry, err error) error {
		contentType := types[path.Ext(name)]
		if err != nil || entry.IsDir() || contentType == "" {
			return err
		}
		content, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		file := web.NewStaticFile(contentType, content)
		address := file.Hash() + "/" + path.Base(name)
		f.paths[path.Base(name)], f.byPath[address] = address, file
		return nil
	})
	return f, err
}

// staticURL returns the path of a script, style sheet or image.
func (p *Pages) staticURL(name string) string { return p.At("/staff/static/" + p.files.paths[name]) }

// staticFile serves a script, style sheet or image. Browsers may cache it forever, because a file with other
// content has another path.
func (p *Pages) staticFile(x *exchange) error {
	file, found := p.files.byPath[x.r.PathValue("sum")+"/"+x.r.PathValue("name")]
	if !found {
		return errPageNotFound()
	}
	h := x.w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	content, _ := file.Select(h, x.r) // the path identifies the content, so the response needs no entity tag
	return x.send(http.StatusOK, h.Get("Content-Type"), content)
}

// newIcons returns the markup that shows each symbol of the icon file, by the name of the symbol.
func newIcons(address string) (map[string]template.HTML, error) {
	content, err := static.ReadFile("static/icons.svg")
	if err != nil {
		return nil, err
	}
	icons := map[string]template.HTML{}
	for _, symbol := range strings.Split(string(content), `<symbol id="`)[1:] {
		name, _, _ := strings.Cut(symbol, `"`)
		icons[name] = template.HTML(`<svg class="icon" width="18" height="18" aria-hidden="true"><use href="` + template.HTMLEscapeString(address+"#"+name) + `"/></svg>`)
	}
	return icons, nil
}
