package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
)

// chooseFile selects a file with the given content on the import page. The page then shows a preview of the file.
func (p *user) chooseFile(content string) (path string) {
	p.t.Helper()
	path = filepath.Join(p.t.TempDir(), "animals.csv")
	p.save(path, content)
	p.Run(chromedp.SetUploadFiles("#file", []string{path}, chromedp.ByQuery))
	return path
}

func (p *user) save(path, content string) {
	p.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func TestImportIsPreviewedFirst(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	p := s.clerk(phone)
	p.open("/staff/import")
	p.accessible("importing")
	p.chooseFile("name,categoryId,status\n,1,available\nMax,1,gone\n")
	p.waitText("#import-result", "2 Rows with problems")
	p.waitText("#import-result", "The status must be available, pending or sold")
	p.accessible("a file with invalid rows")
	if p.text("#import-now") != "" {
		t.Error("a file without a valid row can be imported")
	}
	p.chooseFile("name,categoryId,status\n" + strings.Repeat("Rex <b>,1,available\n", 9000))
	p.waitText("#import-now", "Add 9,000 animals")
	p.accessible("a good file")
	p.waitFor(`(window.bar = 0, new MutationObserver(() => window.bar++).
		observe(document.getElementById("upload-progress"), {attributes: true}), true)`)
	p.click("#import-now")
	p.waitText("#import-result", "9,000 animals added")
	if changes := browsertest.Eval[int](p.Page, "window.bar"); changes < 2 {
		t.Errorf("the progress bar changed %d times", changes)
	}
	p.open("/staff/pets")
	p.waitText("#pet-9000", "Rex <b>")
}

// Staff can export the animals, edit the file and import it again. Only the edited animals change, and none is added
// twice. The preview of an old file says which rows are out of date. If the file is saved again after the user has
// selected it, the user must select the file again.
func TestExportIsEditedAndImported(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	if _, err := s.CreateCategory(t.Context(), shop.Caller{}, "Dogs"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Rex", "Zoë", "Max"} {
		s.AddPet(t, name, 1, shop.Available)
	}
	p := s.clerk(desktop)
	p.open("/staff/import")
	export := browsertest.Eval[string](p.Page, `fetch(document.querySelector("a[download]").href).then(r => r.text())`)
	export = strings.Replace(export, "Zoë,1,available", "Zoë II,1,Sold", 1)
	export = strings.ReplaceAll(export, ",", ";") + ";Tom;;AVAILABLE;;Cats\r\n"
	p.chooseFile("\ufeff" + export)
	p.waitText("#import-now", "Add 1 and change 1")
	p.waitText("#import-result", "New category: Cats")
	p.waitFor(`document.querySelector(".change").textContent.includes("Zoë II")`)
	p.accessible("the preview of an edited file")
	p.click("#import-now")
	p.waitText("#import-result", "1 animal added, 1 animal changed, 2 unchanged")
	if got, err := s.Inventory(t.Context()); err != nil || got != (shop.Inventory{Available: 3, Sold: 1}) {
		t.Errorf("the inventory is %+v (%v), want four animals", got, err)
	}

	path := p.chooseFile("\ufeff" + export) // the same file once more
	p.waitText("#import-result", "This animal has been changed since the file was exported")
	p.waitText("#import-result", "In the shop it is now “Zoë II”")
	p.accessible("a file that is out of date")
	p.save(path, "name,category\nLeo,Dogs\n")
	p.click("#preview-file")
	p.waitText("#import-result", "The file was changed after you chose it")
	p.chooseFile("name,category\nLeo,Dogs\n")
	p.waitText("#import-now", "Add 1 animal")
	p.click("[name=mode]") // changing this option updates the preview at once, and the file stays selected
	p.waitFor(`document.querySelector("[name=mode]").checked && document.querySelector("#import-now")?.textContent.includes("Add 1 animal")`)
	p.click("#import-now")
	p.waitText("#import-result", "1 animal added")
}

// The user corrects what the columns mean, with the keyboard as well, and downloads the rows that were left out.
func TestOwnColumnsAreMatched(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	p := s.clerk(phone)
	folder := t.TempDir()
	p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		c := chromedp.FromContext(ctx)
		save := cdpbrowser.SetDownloadBehavior(cdpbrowser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(folder)
		return save.WithBrowserContextID(c.BrowserContextID).Do(cdp.WithExecutor(ctx, c.Browser))
	}))
	p.open("/staff/import", "#file")
	p.chooseFile("Rufname;Tierart;geb.;Zoll;Impfung\r\nRex;Hund;3/4/2024;x;1\r\nMia;Katze;1/2/2024;y;2\r\n;Hund;;z;3\r\n")
	p.waitText("#import-result", "These columns fit nothing")
	p.accessible("a file with columns of its own")
	column := func(title string) string { return `.matching select[aria-label="What the column ` + title + ` means"]` }
	choose := func(selector, value string) {
		p.waitFor(`(() => {
			const list = document.querySelector(%q);
			list.focus();
			list.value = %q;
			return list.dispatchEvent(new Event("change", { bubbles: true }));
		})()`, selector, value)
	}
	choose(column("geb."), "birthDate")
	p.waitText(".questions", "What does 3/4/2024 mean?")
	p.waitFor("document.activeElement.matches(%q)", column("geb.")) // the focus stays
	choose("#dates", "day")
	p.waitText("#import-result", "date of birth 3 Apr 2024")
	p.click("#ignore-columns")
	p.waitText("#import-now", "Add 2 animals")
	p.waitFor(`document.activeElement.id === "preview"`) // because the button is gone
	p.accessible("a file with a row that is left out")
	p.click("#import-now")
	p.waitText("#import-result", "2 animals added")
	p.waitText("#import-result", "1 row with problems was left out")
	p.accessible("a file that is imported")
	p.click("#left-out")
	p.waitFile(filepath.Join(folder, "rows-to-correct.csv"), "\ufeffPlease correct;Rufname;Tierart;geb.;Zoll;Impfung\r\nThe row has no name.;;Hund;;z;3\r\n")
	p.waitText("#import-result", "2 animals added") // the page stays
}

// waitFile waits until a file has the given content.
func (p *user) waitFile(path, content string) {
	p.t.Helper()
	p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
		var got []byte
		for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
			if got, _ = os.ReadFile(path); string(got) == content {
				return nil
			}
			if err := chromedp.Sleep(30 * time.Millisecond).Do(ctx); err != nil {
				return err
			}
		}
		return fmt.Errorf("the file %s is %q, want %q", path, got, content)
	}))
}

// Without scripts, the preview page contains the file, and the import button sends the file again.
func TestImportWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	p := s.clerkWithoutScripts(phone)
	p.open("/staff/import", "#file")
	p.chooseFile("Tier;Art;Foo\r\nZo\xeb;Dogs;1\r\n")
	p.click("#preview-file")
	p.Run(chromedp.SetValue(`.matching select[aria-label*="Tier"]`, "name", chromedp.ByQuery))
	p.click("#ignore-columns")
	p.click("#import-now")
	p.waitText("#import-result", "1 animal added")
	if got, err := s.Inventory(t.Context()); err != nil || got != (shop.Inventory{Unspecified: 1}) {
		t.Errorf("the inventory is %+v (%v), want one animal", got, err)
	}
}
