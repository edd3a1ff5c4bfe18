package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/internal/apidocs"
	"animalstore/internal/browsertest"
	"animalstore/internal/shoptest"
)

// screenshots is a flag for developers who change the look of the pages.
var screenshots = flag.String("screenshots", "", "save screenshots of the pages in this `folder`")

// openReference opens the reference of a shop with the demo data. The test fails if the browser logs an error on its
// console.
func openReference(t *testing.T, fragment string) (tab *browsertest.Page, url string) {
	t.Helper()
	url = serveDocs(t).URL
	tab = browsertest.Open(t, 1440, 900)
	tab.Run(chromedp.Navigate(url+"/docs"+fragment), chromedp.WaitVisible("#search", chromedp.ByQuery))
	return tab, url
}

func useKey(tab *browsertest.Page, key string) {
	tab.Run(chromedp.SendKeys("#key", key+kb.Enter, chromedp.ByQuery), chromedp.WaitVisible("#forget", chromedp.ByQuery))
}

// try opens the test panel of an operation, sends the prefilled request, and returns the text of the response,
// including its status.
const try = `async id => {
	const panel = document.querySelector("#" + id + " details.try"), answer = panel.querySelector(".answer");
	panel.open = true;
	answer.hidden = true;
	panel.querySelector("form").requestSubmit();
	while (answer.hidden) await new Promise(done => setTimeout(done, 20));
	return answer.innerText;
}`

// In the reference, a developer enters a key once. The test panels then send requests with this key, and the samples
// contain the key and the URL of the service. The key stays in this tab and never appears in the page's URL. Only GET
// /store/orders has a disabled panel.
func TestReferenceSendsRequests(t *testing.T) {
	t.Parallel()
	tab, url := openReference(t, "")
	if got := browsertest.Eval[string](tab, `(() => {
		const form = document.querySelector("#listPets .try form");
		form.parentElement.open = true;
		form.requestSubmit();
		return form.querySelector(".hint").textContent + document.activeElement.id;
	})()`); got != "Enter your API key at the top first.key" {
		t.Errorf("without a key: got the hint and the focus %q", got)
	}
	useKey(tab, shoptest.AdminKey)
	for id, want := range map[string]string{
		"listPets": "200 OK", "getPet": `"id": 1,`, "createPet": "201 Created", "updatePet": "200 OK", "importPets": `"created": 2`, "getOpenapiYaml": "openapi: 3.1.0",
		"deleteCategory": "409 Conflict", "listKeys": "200 OK", "exportPetsCsv": "id,name,categoryId,status", "listEvents": `"specversion": "1.0"`,
	} {
		if got := browsertest.Eval[string](tab, fmt.Sprintf("(%s)(%q)", try, id)); !strings.Contains(got, want) {
			t.Errorf("%s: got %.300s, want %s", id, got, want)
		}
	}
	for _, message := range tab.ConsoleErrors() {
		if !strings.Contains(message, "409 (Conflict)") { // the browser reports error responses on the console
			t.Errorf("error on the console: %s", message)
		}
	}
	sample := browsertest.Eval[string](tab, `document.querySelector("#createPet .sample[data-language=curl] pre").textContent`)
	if !strings.Contains(sample, "'"+url+"/v1/pets'") || !strings.Contains(sample, "Bearer "+shoptest.AdminKey+"'") {
		t.Errorf("the sample does not contain the reader's address and key:\n%s", sample)
	}
	if got := browsertest.Eval[[]bool](tab, `[...document.querySelectorAll("#listOrders .try button")].map(b => b.disabled)`); len(got) != 1 || !got[0] {
		t.Errorf("GET /store/orders has the buttons %v, want one that is disabled", got)
	}
	if got := browsertest.Eval[string](tab, `document.querySelector("#listOrders .try").innerText`); !strings.HasPrefix(got, "The test panel of this operation is disabled.") {
		t.Errorf("the panel of GET /store/orders says %q", got)
	}
	// The key survives a reload in this tab, but is stored nowhere else.
	tab.Run(chromedp.Reload(), chromedp.WaitVisible("#forget", chromedp.ByQuery))
	kept := browsertest.Eval[string](tab, `location.href + " " + document.cookie + JSON.stringify(localStorage)`)
	if strings.Contains(kept, shoptest.AdminKey) {
		t.Errorf("the key is kept in %s", kept)
	}
	if got := browsertest.Eval[string](tab, `(document.querySelector("#forget").click(), sessionStorage.length + document.querySelector("#createPet .sample pre").textContent)`); !strings.HasPrefix(got, "0") || !strings.Contains(got, "YOUR_KEY") {
		t.Errorf("after Forget: got %s", got)
	}
}

// Ids beyond 2^53 are shown exactly.
func TestReferenceShowsExactNumbers(t *testing.T) {
	t.Parallel()
	tab, _ := openReference(t, "")
	useKey(tab, shoptest.AdminKey)
	got := browsertest.Eval[string](tab, fmt.Sprintf(`(() => {
		document.querySelector("#createPet [data-body]").value = '{"name":"Bella: {[,]}","categoryId":9007199254740993}';
		return (%s)("createPet");
	})()`, try))
	if !strings.Contains(got, `"categoryId": 9007199254740993`) || !strings.Contains(got, `"name": "Bella: {[,]}",`) {
		t.Errorf("got %s, want the number and the name unchanged", got)
	}
}

// The search finds operations by path, field, error code or word. A link to an operation scrolls to that operation and
// highlights it in the table of contents.
func TestReferenceIsSearchedAndLinked(t *testing.T) {
	t.Parallel()
	tab, url := openReference(t, "#redeliver")
	tab.Run(chromedp.Poll(`document.querySelector("#redeliver").getBoundingClientRect().top < 200 && document.querySelector("#contents a[aria-current]")?.hash === "#redeliver"`, nil))
	find := func(words string) []string {
		return browsertest.Eval[[]string](tab, fmt.Sprintf(`(() => {
			const search = document.querySelector("#search");
			search.value = %q;
			search.dispatchEvent(new Event("input"));
			return [...document.querySelectorAll("#contents li")].filter(li => li.offsetParent).map(li => li.querySelector("a").href.split("/docs")[1]);
		})()`, words))
	}
	for words, want := range map[string]string{
		"Place ORDER": "#placeOrder", "/store/inventory": "#getInventory", "overlapSeconds": "#rotateKey", "category_in_use": "#deleteCategory",
		"bruno": "/guides/tools", "merge-patch": "#updateOrder",
	} {
		if got := find(words); !strings.Contains(strings.Join(got, " "), want) || len(got) > 12 {
			t.Errorf("%s: found %v, want a few, with %s", words, got, want)
		}
	}
	if got := find("xylophone"); len(got) != 0 || !browsertest.Eval[bool](tab, `document.querySelector("#nothing").offsetParent !== null`) {
		t.Errorf("found %v, or does not say that nothing was found", got)
	}
	find("")
	tab.Run(chromedp.KeyEvent("/"), chromedp.Evaluate(`document.querySelector("#search").value = ""`, nil),
		chromedp.SendKeys("#search", "rotate a key"+kb.Enter, chromedp.ByQuery), chromedp.Poll(`location.hash === "#rotateKey"`, nil))
	// On a guide's page, the search in the table of contents leads to operations in the reference.
	tab.Run(chromedp.Navigate(url+"/docs/guides/pages"), chromedp.SendKeys("#search", "list categories"+kb.Enter, chromedp.ByQuery),
		chromedp.WaitVisible("#listCategories", chromedp.ByQuery))
	if got := browsertest.Eval[string](tab, "location.href"); got != url+"/docs#listCategories" {
		t.Errorf("the contents of a guide lead to %s", got)
	}
}

// A reader can choose a theme, and one language for all samples. Both choices survive a reload.
func TestReferenceKeepsLanguageAndTheme(t *testing.T) {
	t.Parallel()
	tab, url := openReference(t, "")
	shown := `JSON.stringify({
		languages: [...new Set([...document.querySelectorAll(".sample")].filter(s => s.offsetParent).map(s => s.dataset.language))],
		dark: getComputedStyle(document.body).backgroundColor === "rgb(17, 22, 20)",
		pressed: document.querySelector("#theme").ariaPressed})`
	if got, want := browsertest.Eval[string](tab, shown), `{"languages":["curl"],"dark":false,"pressed":"false"}`; got != want {
		t.Errorf("at first: got %s, want %s", got, want)
	}
	tab.Run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}), chromedp.Reload())
	if got, want := browsertest.Eval[string](tab, shown), `{"languages":["curl"],"dark":true,"pressed":"true"}`; got != want {
		t.Errorf("with a dark system: got %s, want %s", got, want)
	}
	tab.Run(chromedp.Click("#theme", chromedp.ByQuery), chromedp.Click(`#createPet [data-choose="typescript"]`, chromedp.ByQuery), chromedp.Reload())
	if got, want := browsertest.Eval[string](tab, shown), `{"languages":["typescript"],"dark":false,"pressed":"false"}`; got != want {
		t.Errorf("after a choice: got %s, want %s", got, want)
	}
	tab.Run(chromedp.Navigate(url + "/docs/guides"))
	if !browsertest.Eval[bool](tab, `document.documentElement.dataset.theme === "light"`) {
		t.Error("the guides do not have the chosen theme")
	}
}

// A copy button copies the sample that it belongs to.
func TestSamplesAreCopied(t *testing.T) {
	t.Parallel()
	tab, url := openReference(t, "")
	got := browsertest.Eval[string](tab, `(async () => {
		let copied = "";
		Object.defineProperty(navigator, "clipboard", { value: { writeText: async text => { copied = text; } } });
		const button = document.querySelector("#getInventory .sample[data-language=curl] .copy");
		button.click();
		while (button.textContent !== "Copied") await new Promise(done => setTimeout(done, 20));
		return copied;
	})()`)
	if want := "curl '" + url + "/v1/store/inventory' \\\n     -H 'Authorization: Bearer YOUR_KEY'"; got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}

// Without scripts, everything can still be read: the contents, every operation, and the samples in all languages.
func TestReferenceIsReadableWithoutScripts(t *testing.T) {
	t.Parallel()
	url := serveDocs(t).URL
	tab := browsertest.Open(t, 1024, 900)
	tab.Run(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(url+"/docs#createPet"))
	got := browsertest.Eval[[]int](tab, `(() => {
		const shown = selector => [...document.querySelectorAll(selector)].filter(e => e.offsetParent).length;
		return [shown("#contents li"), shown(".operation"), shown("#createPet .sample"), shown(".scripted, .try form")];
	})()`)
	if got[0] < 40 || got[1] < 35 || got[2] != 4 || got[3] != 0 {
		t.Errorf("got %d entries, %d operations, %d samples of one, and %d elements that need scripts", got[0], got[1], got[2], got[3])
	}
}

// The reference loads only files from its own server, less than 500 KB in total. Its first sample is visible without
// scrolling.
func TestReferenceIsSmall(t *testing.T) {
	t.Parallel()
	tab, url := openReference(t, "")
	if !browsertest.Eval[bool](tab, `document.querySelector(".operation .sample pre").getBoundingClientRect().bottom < innerHeight`) {
		t.Error("the first operation and its sample are not in view")
	}
	got := browsertest.Eval[map[string]int](tab, `Object.fromEntries([...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].map(e => [e.name, e.transferSize]))`)
	total := 0
	for name, size := range got {
		if !strings.HasPrefix(name, url) || size == 0 {
			t.Errorf("the page loads %s with %d bytes", name, size)
		}
		total += size
	}
	t.Logf("transferred %d bytes: %v", total, got)
	if total < 20_000 || total >= 500_000 {
		t.Errorf("the page needs %d bytes, want less than 500,000", total)
	}
}

// The guides and the reference are accessible on a phone, a tablet and a desktop, in both themes.
func TestDocsAreAccessible(t *testing.T) {
	t.Parallel()
	url := serveDocs(t).URL
	tab := browsertest.Open(t, 1440, 900)
	for _, path := range []string{"/docs", "/docs/guides", "/docs/guides/webhooks"} {
		for scheme, widths := range map[string][]int64{"light": {1440, 390}, "dark": {1024}} { // the colours do not depend on the width
			tab.Run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
			for _, width := range widths {
				tab.Run(chromedp.EmulateViewport(width, 900), chromedp.Navigate(url+path), chromedp.WaitReady("#search", chromedp.ByQuery))
				wantNarrow(t, tab, path)
				// Remove most operations. They all have the same markup, and axe would take minutes to check every one
				// of them.
				tab.Run(chromedp.Evaluate(`
					for (const operation of document.querySelectorAll(".operation:not(#placeOrder, #listOrders, #receiveEvent)")) operation.remove();
					for (const schema of [...document.querySelectorAll(".schema-box")].slice(8)) schema.remove();
					for (const entry of [...document.querySelectorAll("#contents li")].slice(20)) entry.remove();
					for (const details of document.querySelectorAll("main details")) details.open = true`, nil))
				tab.Accessible(fmt.Sprintf("%s at %d pixels, %s", path, width, scheme))
				if *screenshots != "" {
					name := fmt.Sprintf("%s-%d-%s.png", strings.ReplaceAll(path[1:], "/", "-"), width, scheme)
					var top, below []byte
					tab.Run(chromedp.CaptureScreenshot(&top), chromedp.Evaluate(`document.querySelector(".operation, main h2")?.scrollIntoView()`, nil), chromedp.CaptureScreenshot(&below))
					shoptest.OK(t, os.WriteFile(filepath.Join(*screenshots, name), top, 0o600))
					shoptest.OK(t, os.WriteFile(filepath.Join(*screenshots, "below-"+name), below, 0o600))
				}
			}
		}
	}
}

// Every guide fits on a phone.
func TestGuidesFitOnAPhone(t *testing.T) {
	t.Parallel()
	url := serveDocs(t).URL
	tab := browsertest.Open(t, 390, 900)
	for path := range shoptest.Must(apidocs.Load())(t).Pages {
		tab.Run(chromedp.Navigate(strings.TrimSuffix(url+"/docs/"+path, "/")), chromedp.WaitReady("#search", chromedp.ByQuery))
		wantNarrow(t, tab, path)
	}
}

func wantNarrow(t *testing.T, tab *browsertest.Page, path string) {
	t.Helper()
	if wide := browsertest.Eval[int](tab, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
		t.Errorf("%s is %d pixels wider than the screen", path, wide)
	}
}
