package staff

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// The theme that a user has chosen is rendered by the server, so that pages never flash in other colours.
func TestChosenThemeIsRendered(t *testing.T) {
	t.Parallel()
	_, b := signIn(t)
	b.mustGet("/").lacks("data-theme")
	b.post("/staff/theme", "theme", "dark", "back", "/staff/pets?status=sold").wantRedirect("/staff/pets?status=sold")
	b.mustGet("/staff/pets").contains(`data-theme="dark">`)
	b.withHTMX().post("/staff/theme", "theme", "light").want(200, `{"theme":"light"}`)
	b.mustGet("/staff/orders").contains(`data-theme="light"`)
	b.post("/staff/theme", "theme", "", "back", "https://evil.example").wantRedirect("/")
	b.mustGet("/").lacks("data-theme")
	b.with("Cookie", "animalstore_theme=\"><script>").get("/staff/sign-in").want(200).lacks("data-theme")
}

// The manifest, which browsers request without cookies, names icons that exist.
func TestPagesCanBeInstalled(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var manifest struct {
		Name     string
		StartURL string `json:"start_url"`
		Icons    []struct{ Src, Type, Purpose string }
	}
	b := s.browser()
	b.mustGet("/staff/sign-in").contains(`rel="manifest" href="/staff/manifest.json"`)
	shoptest.OK(t, json.Unmarshal([]byte(b.mustGet("/staff/manifest.json").body), &manifest))
	if manifest.Name != "animalstore" || manifest.StartURL != "/" || len(manifest.Icons) < 3 {
		t.Errorf("got the manifest %+v", manifest)
	}
	for _, icon := range manifest.Icons {
		if got := b.mustGet(icon.Src); got.header.Get("Content-Type") != icon.Type || got.body == "" {
			t.Errorf("%+v is %s", icon, got.header.Get("Content-Type"))
		}
	}
}

// Every icon on a page is in the icon file, and every symbol in the file has a unique name.
func TestIconsExist(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	content := string(shoptest.Must(static.ReadFile("static/icons.svg"))(t))
	if n := strings.Count(content, "<symbol "); n != len(s.pages.icons) || n < 30 {
		t.Errorf("the file has %d symbols with %d names", n, len(s.pages.icons))
	}
	used := regexp.MustCompile(`<use href="([^#"]*)#([^"]*)"`).FindAllStringSubmatch(b.mustGet("/").body, -1)
	if len(used) < 10 {
		t.Fatalf("the page has the icons %v", used)
	}
	b.mustGet(used[0][1]).contains(`<symbol id="` + used[0][2] + `"`)
}

// The form that adds an animal can also create its category. It does not create a second category with the same name,
// and creates nothing if another field is invalid.
func TestFirstAnimalBringsItsCategory(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.mustGet("/staff/pets", "New category…").contains(`<option value="available">`)
	b.post("/staff/pets", "name", "", "category", "new", "new-category", "Dogs").want(422, "Name must have 1 to 200")
	b.post("/staff/pets", "name", "Rex", "category", "new", "new-category", " ").want(422, "Enter a name for the new category")
	b.post("/staff/pets", "name", "Rex", "category", "new", "new-category", " Dogs ", "status", "available").wantRedirect("/staff/pets")
	b.withHTMX().post("/staff/pets", "name", "Max", "category", "new", "new-category", "DOGS", "status", "none").
		want(200, "Max was added as number 2.").contains(`<option value="1" selected>Dogs</option>`, `<option value="none" selected>`)
	categories := shoptest.Must(s.ListCategories(t.Context(), shop.PageRequest{Limit: 10}))(t)
	if len(categories.Items) != 1 || categories.Items[0].Name != "Dogs" {
		t.Errorf("got the categories %v, want only Dogs", categories.Items)
	}
	if max := shoptest.Must(s.Pet(t.Context(), 2, nil))(t); max.Status != "" || max.CategoryID != 1 {
		t.Errorf("got %+v, want a dog without a status", max)
	}
}
