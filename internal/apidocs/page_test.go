package apidocs

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"animalstore/api"
	"animalstore/internal/shoptest"
)

// Every operation in the document has a section with samples in four languages, an entry in the contents of every page,
// and a test panel. Only the panel of listOrders is disabled, and the section says so.
func TestEveryOperationIsInTheReference(t *testing.T) {
	t.Parallel()
	site := shoptest.Must(Load())(t)
	ids := regexp.MustCompile(`(?m)^      operationId: (\w+)$`).FindAllSubmatch(api.Source(), -1)
	if len(ids) < 35 {
		t.Fatalf("got %d operations, want all of the document", len(ids))
	}
	languages := map[string]int{}
	for _, s := range site.Samples {
		languages[s.Operation]++
	}
	reference := string(site.Pages[""].Fill(Values{}))
	for _, match := range ids {
		id := string(match[1])
		_, section, found := strings.Cut(reference, `<section class="operation" id="`+id+`"`)
		section, _, _ = strings.Cut(section, "</section>")
		if !found || !strings.Contains(string(site.Pages["guides"].Fill(Values{})), `href="../docs#`+id+`"`) {
			t.Errorf("%s has no section, or no entry in the contents", id)
		}
		if id == "receiveEvent" { // the service sends this request, so it needs no samples and no test panel
			continue
		}
		if languages[id] != 4 {
			t.Errorf("%s has %d samples, want 4", id, languages[id])
		}
		disabled := strings.Contains(section, "The test panel of this operation is disabled.")
		if panel := strings.Contains(section, `<details class="try`); panel == disabled || disabled != (id == "listOrders") {
			t.Errorf("%s: has a panel: %v, says that it is disabled: %v", id, panel, disabled)
		}
	}
}

// The pages of a staging deployment are marked as such. The pages of a service that has a staging deployment let the
// reader choose that deployment. A configured public URL is shown.
func TestPagesShowTheServersOfAService(t *testing.T) {
	t.Parallel()
	const badge, choice, public = `<p class="staging">Staging</p>`, `<option>https://staging.example.com/v1</option>`, `data-public="https://pets.example.com/v1"`
	page := shoptest.Must(Load())(t).Pages["guides/first-request"]
	for values, want := range map[Values]string{
		{}:              `<span class="fill-base">http://127.0.0.1:8080/v1</span>/pets`,
		{Staging: true}: badge,
		{StagingURL: "https://staging.example.com/v1"}: choice,
		{PublicURL: "https://pets.example.com/v1"}:     public,
	} {
		got := string(page.Fill(values))
		for _, text := range []string{badge, choice, public, want} {
			if strings.Contains(got, text) != (text == want) {
				t.Errorf("%+v: the page contains %s: %v", values, text, text != want)
			}
		}
		if strings.Contains(got, ".invalid") {
			t.Errorf("%+v: a placeholder is left", values)
		}
	}
}

// On the page of a guide, the table of contents marks that guide. On other pages, it marks nothing.
func TestContentsMarkTheCurrentGuide(t *testing.T) {
	t.Parallel()
	for name, page := range shoptest.Must(Load())(t).Pages {
		_, contents, _ := strings.Cut(string(page.Fill(Values{})), `<nav id="contents"`)
		contents, _, _ = strings.Cut(contents, "</nav>")
		marked := regexp.MustCompile(`href="([^"]*)" aria-current="page"`).FindAllStringSubmatch(contents, -1)
		if _, guide, isGuide := strings.Cut(name, "guides/"); !isGuide && len(marked) != 0 ||
			isGuide && (len(marked) != 1 || marked[0][1] != "../../docs/guides/"+guide) {
			t.Errorf("/docs/%s: the contents mark %q, want only the page itself if it is a guide", name, marked)
		}
	}
}

// Every relative link leads to a page or a file, and every fragment refers to an element.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	site := shoptest.Must(Load())(t)
	content := map[string]string{"/": "", "/v1/openapi.yaml": "", "/v1/openapi.json": ""}
	for name := range site.Files {
		content["/docs/"+name] = ""
	}
	for name, page := range site.Pages {
		content[path.Join("/docs", name)] = string(page.Fill(Values{}))
	}
	links := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	for from, html := range content {
		for _, link := range links.FindAllStringSubmatch(html, -1) {
			target, fragment, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, ":") {
				continue
			}
			to := from
			if target != "" {
				to = path.Join(path.Dir(from), target)
			}
			if html, found := content[to]; !found || fragment != "" && !strings.Contains(html, ` id="`+fragment+`"`) {
				t.Errorf("%s has a link to %s, which leads nowhere", from, link[1])
			}
		}
		if ids := regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(html, -1); len(ids) > 0 {
			seen := map[string]bool{}
			for _, id := range ids {
				if seen[id[1]] {
					t.Errorf("%s has several elements with the id %s", from, id[1])
				}
				seen[id[1]] = true
			}
		}
	}
}

// Markup in the document, in a guide or in an example is shown as text and not interpreted.
func TestTextIsEscaped(t *testing.T) {
	t.Parallel()
	description := shoptest.Must(markdown("<script>alert(1)</script> and `<b>`"))(t)
	guide := shoptest.Must(newGuide("guides/x.md", []byte("# <i>Title</i>\n\n```html\n<img src=x>\n```\n\n[a](../../b.md) [c](pages.md#d) [e](../clients.md)")))(t)
	if got := string(description + guide.Content + highlight(`"<b>"`, "json")); strings.Contains(got, "<script") || strings.Contains(got, "<img") || strings.Contains(got, "<b>") || strings.Contains(got, "<i>") {
		t.Errorf("markup is interpreted: %s", got)
	}
	if !strings.Contains(string(guide.Content), `a <a href="pages#d">c</a> <a href="clients">e</a>`) {
		t.Errorf("links are not adapted to the pages: %s", guide.Content)
	}
}

// No paragraph contains another one. A browser would end the outer paragraph where the inner one begins, and show an
// extra empty paragraph later.
func TestParagraphsAreNotNested(t *testing.T) {
	t.Parallel()
	tags := regexp.MustCompile(`<p(?: [^>]*)?>|</p>`)
	for name, page := range shoptest.Must(Load())(t).Pages {
		html := string(page.Fill(Values{}))
		inside := false
		for _, at := range tags.FindAllStringIndex(html, -1) {
			opens := html[at[0]:at[1]] != "</p>"
			if opens == inside {
				t.Fatalf("page %q: a paragraph is inside another one, or ends twice: %s", name, html[max(0, at[0]-200):at[1]])
			}
			inside = opens
		}
	}
}

// The scope of an operation is found even if a line break splits the sentence that names it.
func TestScopeIsFoundAcrossLines(t *testing.T) {
	t.Parallel()
	for _, description := range []string{"Needs the scope `pets:read`.", "Lists all. Needs the\nscope `pets:read`.", "Needs\nthe scope\n`pets:read`."} {
		if got := scopePattern.FindStringSubmatch(description); got == nil || got[1] != "pets:read" {
			t.Errorf("%q: got %q, want pets:read", description, got)
		}
	}
}
