package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"animalstore/api/apitest"
	"animalstore/internal/browsertest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// photoFiles writes images into files and returns their paths.
func photoFiles(t *testing.T) (paths []string) {
	t.Helper()
	folder := t.TempDir()
	for name, content := range shoptest.Must(apitest.ExampleImages())(t) {
		paths = append(paths, filepath.Join(folder, name))
		shoptest.OK(t, os.WriteFile(paths[len(paths)-1], []byte(content), 0o600))
	}
	return paths
}

// photos returns the ids of the photos of the first animal.
func (s *testShop) photos() (ids []int64) {
	s.t.Helper()
	for _, photo := range shoptest.Must(s.Photos(s.t.Context(), 1))(s.t) {
		ids = append(ids, photo.ID)
	}
	return ids
}

func (p *user) wantPhotos(ids ...int64) {
	p.t.Helper()
	p.waitFor(`JSON.stringify([...document.querySelectorAll("[data-photo]")].map((tile) => +tile.dataset.photo)) === %q`, strings.ReplaceAll(fmt.Sprint(ids), " ", ","))
	if got := p.shop.photos(); fmt.Sprint(got) != fmt.Sprint(ids) {
		p.t.Errorf("the animal has the photos %v, want %v", got, ids)
	}
}

// image is a script that draws a photo of 3000 × 2000 pixels into a file.
const image = `new Promise((done) => {
	const canvas = document.createElement("canvas");
	canvas.width = 3000;
	canvas.height = 2000;
	canvas.getContext("2d").fillRect(0, 0, 1500, 2000);
	canvas.toBlob((blob) => done(new File([blob], "rex.png", { type: "image/png" })));
})`

// Photos can be chosen, dropped and pasted. They are made smaller before they are sent.
func TestPhotosAreChosenDroppedAndPasted(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p, other := s.clerk(desktop), s.clerk(390)
	p.open("/staff/pets/1", "#add-photos.ready")
	other.open("/staff/pets/1", "#add-photos.ready")
	p.accessible("an animal without photos")
	p.Run(chromedp.SetUploadFiles("#photo-files", photoFiles(t), chromedp.ByQuery))
	p.waitText("#flashes", "3 photos were added.")
	p.wantPhotos(1, 2, 3)
	other.waitVisible(`[data-photo="3"]`)
	p.accessible("an animal with photos")
	p.waitFor(`[...document.images].every((image) => image.complete || image.loading === "lazy")`) // before they are gone
	p.click("#flashes button")
	p.wantPhotos()

	for _, c := range []struct{ event, script string }{
		{"drop", `new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })`},
		{"paste", `new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })`},
	} {
		before := len(s.photos())
		p.await(`%s.then((file) => {
			const data = new DataTransfer();
			data.items.add(file);
			document.querySelector("#photos").dispatchEvent(%s);
			return true;
		})`, image, c.script)
		p.waitFor(`document.querySelectorAll("[data-photo]").length === %d`, before+1)
		photos := shoptest.Must(s.Photos(t.Context(), 1))(t)
		if last := photos[len(photos)-1]; last.Width != 1600 || last.Height != 1067 {
			t.Errorf("after a %s, the photo has %d × %d pixels", c.event, last.Width, last.Height)
		}
	}
	p.await(`Promise.resolve(new File(["x"], "notes.txt", { type: "image/png" })).then((file) => {
		const data = new DataTransfer();
		data.items.add(file);
		document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
		return true;
	})`)
	p.waitText("#flashes .problem", "notes.txt: The file is")
}

// await runs a script and waits until its promise is fulfilled.
func (p *user) await(script string, args ...any) {
	p.t.Helper()
	browsertest.Eval[bool](p.Page, `(window.fulfilled = false, `+fmt.Sprintf(script, args...)+`.then(() => (window.fulfilled = true)), true)`)
	p.waitFor("window.fulfilled")
}

// addPhotos adds photos to the first animal directly through the service.
func (s *testShop) addPhotos(n int) {
	s.t.Helper()
	files := shop.PhotoFiles{}
	for _, size := range shop.PhotoSizes() {
		files[size] = []byte(shoptest.Must(apitest.ExampleImages())(s.t)["rex.jpg"])
	}
	for range n {
		shoptest.Must(s.AddPhoto(s.t.Context(), shop.Caller{}, 1, shop.NewPhoto{Files: files, Width: 64, Height: 48}))(s.t)
	}
}

// Photos are ordered by dragging and with the keyboard, described and removed. The focus stays with the photo.
func TestPhotosAreOrderedDescribedAndRemoved(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	s.addPhotos(3)
	p := s.clerk(desktop)
	p.open("/staff/pets/1", "#photo-3")
	drag := func(from, to int) {
		t.Helper()
		browsertest.Eval[bool](p.Page, fmt.Sprintf(`(() => {
			const dataTransfer = new DataTransfer(), options = { dataTransfer, bubbles: true, cancelable: true };
			const from = document.querySelector("#photo-%d"), to = document.querySelector("#photo-%d");
			from.dispatchEvent(new DragEvent("dragstart", options));
			to.dispatchEvent(new DragEvent("dragover", options));
			to.dispatchEvent(new DragEvent("drop", options));
			return true;
		})()`, from, to))
	}
	drag(3, 1)
	p.wantPhotos(3, 1, 2)
	p.waitFor(`document.activeElement.id === "photo-3"`)
	p.click("#flashes button")
	p.wantPhotos(1, 2, 3)

	p.click("#photo-1")
	p.waitVisible("#photo-1-dialog")
	p.accessible("the dialog of a photo")
	p.click("#photo-1-later")
	p.wantPhotos(2, 1, 3)
	p.waitFor(`document.activeElement.id === "photo-1-later" && document.activeElement.checkVisibility()`)
	p.Run(chromedp.KeyEvent(kb.Enter))
	p.wantPhotos(2, 3, 1)
	p.click("#photo-1-first")
	p.wantPhotos(1, 2, 3)
	p.fill("#photo-1-alt", "Rex asleep"+kb.Enter)
	p.waitFor(`document.querySelector("#photo-1 img").alt === "Rex asleep"`)
	p.click("#photo-1-remove")
	p.waitText("#question dialog[open] h2", "Remove this photo?")
	p.click("#question [data-close]")
	p.waitFor(`document.activeElement.id === "photo-1-remove"`)
	p.click("#photo-1-remove")
	p.click("#question dialog[open] #confirm")
	p.wantPhotos(2, 3)
}

func TestPhotosAreAddedWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newShopWithRex(t)
	p := s.clerkWithoutScripts(desktop)
	p.open("/staff/pets/1", "#add-photos button")
	p.Run(chromedp.SetUploadFiles("#photo-files", photoFiles(t), chromedp.ByQuery))
	p.click("#add-photos button")
	p.waitText("#flashes", "3 photos were added.")
	p.click("#photo-2")
	p.click("#photo-2-first")
	p.waitText("#flashes", "The photo is now the cover.")
	if got := fmt.Sprint(s.photos()); got != "[2 1 3]" {
		t.Errorf("the animal has the photos %s", got)
	}
}
