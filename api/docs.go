package api

import (
	"embed"
	"html/template"
	"path"
)

//go:embed docs/*.html docs/*.css docs/*.js docs/*.txt
var docs embed.FS

// DocsPages returns the templates for the documentation pages reference.html and guides.html.
func DocsPages() (*template.Template, error) { return template.ParseFS(docs, "docs/*.html") }

// DocsFiles returns the files that the documentation pages use and their licences, by name. It fails only if
// the program was built wrongly.
func DocsFiles() (map[string][]byte, error) {
	entries, err := docs.ReadDir("docs")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if name := entry.Name(); path.Ext(name) != ".html" { // those are templates
			if files[name], err = docs.ReadFile("docs/" + name); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}
