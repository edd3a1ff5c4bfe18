package api

import (
	"embed"
	"html/template"
)

//go:embed docs/*.html docs/*.css docs/*.js docs/*.txt
var docs embed.FS

// DocsPages returns the templates for the documentation pages reference.html and guides.html.
func DocsPages() (*template.Template, error) { return template.ParseFS(docs, "docs/*.html") }

// DocsFile returns a file that the documentation pages use, or the licence for such a file.
func DocsFile(name string) ([]byte, error) { return docs.ReadFile("docs/" + name) }
