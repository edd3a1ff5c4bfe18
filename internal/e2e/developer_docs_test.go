package e2e

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"animalstore/internal/browsertest"
	"animalstore/internal/programtest"
)

// TestGuideExamplesRun runs every shell example from the guides.
func TestGuideExamplesRun(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve()
	guides := p.Send("GET", "/docs/guides", "", "").Body
	examples := regexp.MustCompile(`(?s)<code class="run">(.*?)</code>`).FindAllStringSubmatch(guides, -1)
	if len(examples) < 8 {
		t.Fatalf("got %d examples, want at least 8", len(examples))
	}
	f.Variables = append(f.Variables, "KEY="+programtest.AdminKey)
	for _, example := range examples {
		script := html.UnescapeString(example[1])
		// With --fail-with-body, curl also fails if the service responds with an error.
		got := f.RunCommand("bash", "-euc", "curl() { command curl --fail-with-body \"$@\"; }\n"+script)
		if got.Code != 0 || strings.Contains(got.Stdout, `"code":`) || !strings.Contains(got.Stdout, `"id":`) {
			t.Errorf("%s\ngot %v, want exit code 0 and a response without an error", script, got)
		}
	}
}

// TestDocsAreAccessible checks the accessibility of the guides and the API reference at phone and desktop
// widths.
func TestDocsAreAccessible(t *testing.T) {
	t.Parallel()
	p := programtest.NewFolderWithKey(t).Serve()
	for _, width := range []int64{390, 1280} {
		page := browsertest.Open(t, int(width), 900)
		page.Run(chromedp.EmulateViewport(width, 900), chromedp.Navigate(p.URL+"/docs/guides"))
		page.Accessible(fmt.Sprintf("the guides at %d pixels", width))
		page.Run(chromedp.Navigate(p.URL+"/docs"), chromedp.WaitVisible(".opblock", chromedp.ByQuery))
		page.Accessible(fmt.Sprintf("the reference at %d pixels", width))
	}
}

// tryOutScript defines JavaScript functions that open one operation in the API reference at a time. Opening
// all operations at the same time would take minutes to render.
const tryOutScript = `
	const blocks = () => [...document.querySelectorAll(".opblock")];
	const nameOf = block => block.querySelector(".opblock-summary-method").textContent + " " + block.querySelector("[data-path]").dataset.path;
	const find = async (block, selector) => {
		for (;;) {
			const found = block.querySelector(selector);
			if (found) return found;
			await new Promise(done => setTimeout(done, 20));
		}
	};
	const toggle = block => block.querySelector(".opblock-summary-control").click();
	const panelOf = async i => {
		const block = blocks()[i];
		toggle(block);
		await find(block, ".responses-wrapper"); // rendered last
		const panel = block.querySelector(".try-out__btn") ? "" : " disabled";
		toggle(block);
		return nameOf(block) + panel;
	};
	const tryOut = async name => {
		const block = blocks().find(block => nameOf(block) === name);
		toggle(block);
		(await find(block, ".try-out__btn")).click();
		(await find(block, ".btn.execute")).click();
		const status = (await find(block, ".live-responses-table tr.response .response-col_status")).textContent;
		toggle(block);
		return status;
	};
`

// TestReferenceCanTryEveryOperation enters a key once and then sends requests from the "Try it out" panels.
// Every operation except GET /store/orders must have such a panel.
func TestReferenceCanTryEveryOperation(t *testing.T) {
	t.Parallel()
	f := programtest.NewFolderWithKey(t)
	p := f.Serve("--demo")
	page := browsertest.Open(t, 1280, 2000)
	page.Run(
		chromedp.Navigate(p.URL+"/docs"),
		// Scripted clicks do not depend on the positions of elements, which change while the page renders.
		chromedp.WaitVisible(".opblock", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector(".btn.authorize").click()`, nil),
		chromedp.SendKeys("#auth-bearer-value", programtest.AdminKey, chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector(".auth-btn-wrapper .authorize").click()`, nil),
		chromedp.WaitReady(`[aria-label="Remove authorization"]`, chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector(".auth-btn-wrapper .btn-done").click()`, nil),
	)
	page.Run(chromedp.Evaluate(tryOutScript, nil))
	operations := []string{}
	for i := range browsertest.Eval[int](page, `document.querySelectorAll(".opblock").length`) {
		operations = append(operations, browsertest.Eval[string](page, fmt.Sprintf("panelOf(%d)", i)))
	}
	documented := strings.Count(p.Send("GET", "/v1/openapi.yaml", "", "").Body, "operationId:")
	if len(operations) < 25 || len(operations) > documented {
		t.Errorf("operations: got %d, want between 25 and the %d documented ones", len(operations), documented)
	}
	for _, operation := range operations {
		isOurs := strings.Contains(operation, " /") // false for webhook messages, which have no path
		if strings.HasSuffix(operation, " disabled") && isOurs && operation != "GET /store/orders disabled" {
			t.Errorf("unexpected disabled test panel: %s", operation)
		}
	}
	if !slices.Contains(operations, "GET /store/orders disabled") {
		t.Errorf("no disabled test panel of GET /store/orders among %q", operations)
	}
	for _, try := range []struct{ method, path, want string }{
		{"GET", "/pets", "200"}, {"GET", "/store/inventory", "200"}, {"POST", "/pets", "201"}, {"GET", "/keys/current", "200"},
		{"GET", "/categories", "200"}, {"GET", "/events", "200"}, {"POST", "/categories", "201"}, {"POST", "/pets", "201"},
		{"GET", "/pets/{petId}", "200"}, {"GET", "/keys", "200"}, {"GET", "/webhooks", "200"}, {"POST", "/imports", "200"}, {"GET", "/exports/pets.csv", "200"},
	} {
		got := browsertest.Eval[string](page, fmt.Sprintf("tryOut(%q)", try.method+" "+try.path))
		if !strings.HasPrefix(strings.TrimSpace(got), try.want) {
			t.Errorf("%s %s: got status %q, want %s", try.method, try.path, got, try.want)
		}
	}
}
