package api

import (
	"embed"
	"html/template"
)

//go:embed docs/*.html docs/*.css docs/*.js docs/*.txt
var docs embed.FS

// DocsPages are the pages of the documentation: reference.html and guides.html.
func DocsPages() (*template.Template, error) { return template.ParseFS(docs, "docs/*.html") }

// DocsFile returns a file that the pages use, or that says under which licence they may.
func DocsFile(name string) ([]byte, error) { return docs.ReadFile("docs/" + name) }
