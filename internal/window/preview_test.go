package window

import (
	"net/http/httptest"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// A preview shows the window although it is off. Its links stay in the preview, and nothing of it gets into the cache.
func TestPreviewShowsAWindowThatIsOff(t *testing.T) {
	t.Parallel()
	w := serveWindow(t, shoptest.Open(t, shoptest.Options{}))
	bella := w.publish("Bella", 1)
	preview := func(path string) (answer, error) {
		recorder := httptest.NewRecorder()
		err := w.pages.Preview(recorder, httptest.NewRequest("GET", "/staff"+path, nil))
		return answer{recorder.Result(), recorder.Body.String(), path}, err
	}
	for _, path := range []string{"/window", petPath(bella.ID)} {
		got, err := preview(path)
		if err != nil {
			t.Fatal(err)
		}
		got.want(t, 200, "Bella", "Preview.", `href="/staff/window`)
		if strings.Contains(got.body, `href="/window`) || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s leaves the preview, or may be cached: %v\n%s", path, got.Header, got.body)
		}
		w.get(path).want(t, 404, "-Bella")
	}
	for _, path := range []string{"/window/animals.json", "/window/feed.xml", "/window/pets/99", "/window/nothing"} {
		if _, err := preview(path); err == nil || shop.AsError(err).Code != shop.NotFound {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if got, err := preview("/window/static/" + w.pages.files.paths["window.css"]); err != nil || got.StatusCode != 200 {
		t.Errorf("the style sheet: %v", err)
	}
}
