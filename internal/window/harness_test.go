package window

import (
	"bytes"
	picture "image"
	"image/color"
	"image/jpeg"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"animalstore/internal/leaktest"
	"animalstore/internal/programtest"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/web"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// public is the public URL of the windows that have one.
const public = "https://pets.example.com/shop/v1"

// testWindow is a shop with a window that is switched on.
type testWindow struct {
	*shoptest.Shop
	t     *testing.T
	pages *Pages
	log   *programtest.Transcript
}

// serveWindow serves the window of a shop.
func serveWindow(t *testing.T, s *shoptest.Shop, change ...func(*Config)) *testWindow {
	t.Helper()
	w := &testWindow{Shop: s, t: t, log: &programtest.Transcript{}}
	config := Config{Service: s.Service, Log: slog.New(slog.NewTextHandler(w.log, nil))}
	for _, fn := range change {
		fn(&config)
	}
	var err error
	if w.pages, err = New(config); err != nil {
		t.Fatal(err)
	}
	return w
}

// newWindow opens a shop on SQLite whose window is on.
func newWindow(t *testing.T, change ...func(*Config)) *testWindow {
	t.Helper()
	t.Parallel()
	w := serveWindow(t, shoptest.Open(t, shoptest.Options{}), change...)
	w.switchOn()
	return w
}

func withPublicURL(c *Config) { c.PublicURL = public }

// onBothEngines runs a test with SQLite and with PostgreSQL.
func onBothEngines(t *testing.T, test func(*testing.T, *testWindow)) {
	t.Helper()
	t.Parallel()
	for name, postgres := range map[string]bool{"SQLite": false, "PostgreSQL": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serveWindow(t, shoptest.Open(t, shoptest.Options{Postgres: postgres}))
			w.switchOn()
			test(t, w)
		})
	}
}

func (w *testWindow) settings(change shop.SettingsChange) {
	w.t.Helper()
	if _, err := w.UpdateSettings(w.t.Context(), shop.Caller{}, change, nil); err != nil {
		w.t.Fatal(err)
	}
}

func (w *testWindow) switchOn() {
	w.t.Helper()
	w.settings(shop.SettingsChange{Window: shop.WindowChange{Enabled: new(true)}})
}

// publish adds an animal that is available and published.
func (w *testWindow) publish(name string, category int64, changes ...func(*shop.ProfileChange)) shop.Pet {
	w.t.Helper()
	pet := w.AddPet(w.t, name, category, shop.Available)
	w.profile(pet.ID, append(changes, func(c *shop.ProfileChange) { c.Published = new(true) })...)
	return pet
}

func (w *testWindow) profile(id int64, changes ...func(*shop.ProfileChange)) {
	w.t.Helper()
	var change shop.ProfileChange
	for _, fn := range changes {
		fn(&change)
	}
	if _, err := w.UpdateProfile(w.t.Context(), shop.Caller{}, id, change, nil); err != nil {
		w.t.Fatal(err)
	}
}

func (w *testWindow) setStatus(id int64, status shop.Status) {
	w.t.Helper()
	if _, err := w.UpdatePet(w.t.Context(), shop.Caller{}, id, shop.PetChange{Status: &status}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// addPhoto adds a photo with an alternative text.
func (w *testWindow) addPhoto(id int64, alt string) shop.Photo {
	w.t.Helper()
	gray := picture.NewGray(picture.Rect(0, 0, 40, 30))
	for i := range gray.Pix {
		gray.Pix[i] = color.Gray{Y: uint8(i)}.Y
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, gray, nil); err != nil {
		w.t.Fatal(err)
	}
	converted, err := web.NewLimits(0).ConvertPhoto(w.t.Context(), shop.Principal{}, file.Bytes(), "image/jpeg")
	if err != nil {
		w.t.Fatal(err)
	}
	photo, err := w.AddPhoto(w.t.Context(), shop.Caller{}, id, converted)
	if err != nil {
		w.t.Fatal(err)
	}
	if photo, err = w.UpdatePhoto(w.t.Context(), shop.Caller{}, id, photo.ID, shop.PhotoChange{Alt: &alt}, nil); err != nil {
		w.t.Fatal(err)
	}
	return photo
}

// answer is a response with its complete body.
type answer struct {
	*http.Response
	body string
	path string
}

func (w *testWindow) do(method, path string, header ...string) answer {
	w.t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	w.pages.ServeHTTP(recorder, r)
	response := recorder.Result()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{response, string(body), path}
}

func (w *testWindow) get(path string, header ...string) answer {
	w.t.Helper()
	return w.do("GET", path, header...)
}

// want fails the test unless the response has the status and contains all texts. A text with a minus sign before it must be
// missing.
func (a answer) want(t *testing.T, status int, texts ...string) answer {
	t.Helper()
	if a.StatusCode != status {
		t.Errorf("%s: got status %d, want %d:\n%s", a.path, a.StatusCode, status, a.body)
	}
	for _, text := range texts {
		if absent, isAbsent := strings.CutPrefix(text, "-"); isAbsent {
			if strings.Contains(a.body, absent) {
				t.Errorf("%s contains %q:\n%s", a.path, absent, a.body)
			}
		} else if !strings.Contains(a.body, text) {
			t.Errorf("%s does not contain %q:\n%s", a.path, text, a.body)
		}
	}
	return a
}
