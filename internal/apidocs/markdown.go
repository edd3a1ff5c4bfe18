package apidocs

import (
	"bytes"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"animalstore/docs"
)

// localURL is the address of the API in the Markdown files of the guides. People also read these files in the
// repository. The rendered pages show the address of the service instead.
const localURL = "http://127.0.0.1:8080/v1"

var converter = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(codeRenderer{}, 1))),
)

// markdown renders a description from the OpenAPI document.
func markdown(source string) (template.HTML, error) {
	return render([]byte(source), converter.Parser().Parse(text.NewReader([]byte(source))))
}

func render(source []byte, n ast.Node) (template.HTML, error) {
	var b bytes.Buffer
	if err := converter.Renderer().Render(&b, source, n); err != nil {
		return "", err
	}
	// A wide table scrolls inside its own box, not with the page. The tabindex lets keyboard users scroll it, too.
	wrapped := strings.NewReplacer("<table>", `<div class="scroll" tabindex="0"><table>`, "</table>", "</table></div>", "<th>", `<th scope="col">`)
	return template.HTML(wrapped.Replace(strings.TrimSpace(b.String()))), nil
}

// inline returns rendered Markdown without paragraph tags, for places that cannot contain paragraphs.
func inline(html template.HTML) template.HTML {
	return template.HTML(strings.NewReplacer("<p>", "", "</p>", " ").Replace(string(html)))
}

// codeRenderer renders code blocks with syntax colours.
type codeRenderer struct{}

func (codeRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			block := n.(*ast.FencedCodeBlock)
			language, code := string(block.Language(source)), strings.TrimRight(string(block.Lines().Value(source)), "\n")
			fmt.Fprintf(w, "<pre tabindex=\"0\" data-language=\"%s\"><code>%s</code></pre>\n", template.HTMLEscapeString(language), highlight(code, language))
		}
		return ast.WalkSkipChildren, nil
	})
}

// guide is a page rendered from a Markdown file in the docs folder.
type guide struct {
	Name, Title, Summary string
	Content              template.HTML
	Words                string
}

// newGuide renders a guide. The heading at level 1 becomes its title, and the first paragraph becomes its summary.
// Links to other guides become links to their pages. Other relative links lead to files that the service does not
// serve, so only their text is kept.
func newGuide(file string, source []byte) (*guide, error) {
	g := &guide{Name: guideName(file), Words: words(string(source))}
	source = bytes.ReplaceAll(source, []byte(localURL), []byte(baseURL))
	root := converter.Parser().Parse(text.NewReader(source))
	var outside []*ast.Link
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			if entering && n.Level == 1 {
				g.Title = plainText(n, source)
			}
		case *ast.Paragraph:
			if entering && g.Summary == "" && n.Parent() == root {
				g.Summary = plainText(n, source)
			}
		case *ast.Link:
			target, fragment, hasFragment := strings.Cut(string(n.Destination), "#")
			if !entering || target == "" || strings.Contains(target, ":") {
				break
			}
			if target = path.Join(path.Dir(file), target); !slices.Contains(docs.Guides, target) {
				outside = append(outside, n)
			}
			if n.Destination = []byte(guideName(target)); hasFragment {
				n.Destination = append(n.Destination, "#"+fragment...)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	for _, link := range outside {
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			link.Parent().InsertBefore(link.Parent(), link, child)
		}
		link.Parent().RemoveChild(link.Parent(), link)
	}
	g.Content, err = render(source, root)
	return g, err
}

// guideName returns the name of a guide's page.
func guideName(file string) string { return strings.TrimSuffix(path.Base(file), ".md") }

// plainText returns the text of a node without markup, on one line.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			b.Write(t.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		} else {
			b.WriteString(plainText(child, source))
		}
	}
	return b.String()
}
