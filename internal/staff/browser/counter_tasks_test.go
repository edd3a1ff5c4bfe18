package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// counterTask is a task at the counter whose clicks and key presses the documentation states. It begins on the Today page.
type counterTask struct {
	name  string
	phone bool // whether the person uses a phone
	do    func(w worker)
}

// counterTasks are the tasks in their order. They use the same shop, so a task may use what an earlier one has left.
func counterTasks(t *testing.T) []counterTask {
	t.Helper()
	return []counterTask{
		{"Find an animal by its chip number", false, func(w worker) {
			w.find("276098106123456", "#pet-detail")
			w.waitText("h1", "Waldo")
		}},
		{"Add Luna, a dog, with two photos from a phone", true, func(w worker) {
			w.click(`.tabbar a[href="/staff/pets"]`)
			// Wait until the scripts have run.
			w.waitFor(`location.pathname === "/staff/pets" && document.readyState === "complete"`)
			w.click(".panel > summary")
			w.focused("#add-name")
			w.enter("Luna")
			w.pick("#add-category", "Dogs")
			w.click("#add button.primary")
			w.click("#pet-2-name")
			w.waitVisible("#add-photos.ready")
			w.done.clicks++ // opens the phone's own dialog, in which both photos are chosen
			w.Run(chromedp.SetUploadFiles("#photo-files", photoFiles(t)[:2], chromedp.ByQuery))
			w.waitText("#flashes", "2 photos were added.")
			w.waitFor(`document.querySelectorAll("[data-photo]").length === 2`)
		}},
		{"Publish Luna", false, func(w worker) {
			w.find("luna", "#pet-detail")
			w.click("#publish")
			w.waitText("#flashes", "Luna is published.")
		}},
		{"Import a spreadsheet with other column names", false, func(w worker) {
			w.click(`.sidebar a[href="/staff/import"]`)
			w.waitVisible("#file")
			w.done.clicks++ // opens the computer's own dialog, in which the file is chosen
			w.chooseFile("Tiername;Tierart;Rasse;geboren;Preis;Futter\r\nKäthe;Hund;Dackel;31.12.2021;250,00 €;abends\r\nMax;Katze;;1.2.2022;80 €;morgens\r\n")
			w.waitText("#import-result", "This column fits nothing: Futter")
			w.click("#ignore-columns")
			w.click("#import-now")
			w.waitText("#import-result", "2 animals added")
		}},
	}
}

// The documentation says how many clicks and key presses tasks at the counter need, and this test counts them. Each task takes
// the shortest route that the pages offer.
func TestTasksAtTheCounterNeedFewClicksAndKeys(t *testing.T) {
	t.Parallel()
	s := newShop(t, shop.Production)
	shoptest.Must(s.CreateCategory(t.Context(), shop.Caller{}, "Dogs"))(t)
	waldo := s.AddPet(t, "Waldo", 1, shop.Available)
	shoptest.Must(s.UpdateProfile(t.Context(), shop.Caller{}, waldo.ID, shop.ProfileChange{Microchip: new("276098106123456")}, nil))(t)
	desk, pocket := s.clerk(desktop), s.clerk(phone)
	var counted strings.Builder
	for _, task := range counterTasks(t) {
		w := worker{desk, new(effort)}
		if task.phone {
			w.user = pocket
		}
		w.open("/", "#worklist")
		task.do(w)
		fmt.Fprintf(&counted, "| %s | %d | %d |\n", task.name, w.done.clicks, w.done.keys)
	}
	wantDocumented(t, "| task at the counter | clicks | keys |\n|---|---|---|\n", counted.String())
}

// wantDocumented fails unless the table with the given head, in the guide to the staff pages, has exactly these rows.
func wantDocumented(t *testing.T, head, rows string) {
	t.Helper()
	guide, err := os.ReadFile("../../../docs/staff.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(guide), head)
	var documented strings.Builder
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		documented.WriteString(line)
	}
	if documented.String() != rows {
		t.Errorf("docs/staff.md has\n%s\nwant\n%s", documented.String(), rows)
	}
}
