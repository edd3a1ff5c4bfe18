package window

import (
	"embed"
	"path"
	"strings"

	"animalstore/internal/web"
)

//go:embed static
var static embed.FS

// files holds the style sheet and the icon. The path of each file contains a hash of its content.
type files struct {
	paths  map[string]string // the path of each file below /window/static/, by file name
	byPath map[string]*web.StaticFile
}

func newFiles() (*files, error) {
	f := &files{map[string]string{}, map[string]*web.StaticFile{}}
	entries, err := static.ReadDir("static")
	if err != nil {
		return nil, err
	}
	types := map[string]string{".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	for _, entry := range entries {
		content, err := static.ReadFile(path.Join("static", entry.Name()))
		if err != nil {
			return nil, err
		}
		file := web.NewStaticFile(types[path.Ext(entry.Name())], content)
		address := file.Hash() + "/" + entry.Name()
		f.paths[entry.Name()], f.byPath[address] = address, file
	}
	return f, nil
}

// Static returns the path of a file.
func (x *exchange) Static(name string) string { return x.at(root + "/static/" + x.files.paths[name]) }

// sendStatic sends a file. Caches may keep it forever, because a file with other content has another path.
func (x *exchange) sendStatic(address string) error {
	file, found := x.files.byPath[strings.TrimPrefix(address, "/")]
	if !found {
		return errNoPage()
	}
	h := x.w.Header()
	h["Cache-Control"], h["Content-Security-Policy"] = forever, sandboxed
	body, _ := file.Select(h, x.r) // the path identifies the content, so the response needs no entity tag
	x.write(200, body)
	return nil
}
