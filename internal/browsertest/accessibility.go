package browsertest

import (
	_ "embed"
	"strings"

	"github.com/chromedp/chromedp"
)

//go:embed axe/axe.min.js
var axe string

// Accessible fails the test if the accessibility checker axe finds serious violations on the page, or if the
// page is wider than the screen.
func (p *Page) Accessible(what string) {
	p.t.Helper()
	if problems := p.AccessibilityViolations(); len(problems) > 0 {
		p.t.Errorf("%s:\n%s", what, strings.Join(problems, "\n"))
	}
	if wide := Eval[int](p, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
		p.t.Errorf("%s: the page is %d pixels wider than the screen", what, wide)
	}
}

// AccessibilityViolations returns the violations that axe rates as serious or critical, and text that has the
// same colour as its background.
func (p *Page) AccessibilityViolations() []string {
	p.t.Helper()
	if !Eval[bool](p, "!!window.axe") {
		p.Run(chromedp.Evaluate(axe+";0", nil))
	}
	// axe reports text that has the same colour as its background only as incomplete, because the text could be
	// hidden on purpose.
	return Eval[[]string](p, `axe.run(document, {resultTypes: ["violations", "incomplete"]}).then(r => [
		...r.violations.filter(v => v.impact === "serious" || v.impact === "critical"),
		...r.incomplete.map(v => ({...v, nodes: v.nodes.filter(n => n.any.some(a => a.message.includes("1:1 contrast")))})).filter(v => v.nodes.length > 0)]
		.map(v => v.id + ": " + v.help + " " + v.nodes.slice(0, 3).map(n => n.html + " " + (n.any[0]||{}).message).join(" | ")))`)
}
