package staff

import (
	"reflect"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// The settings page switches the shop window on, says what is wrong with its fields, shows a conflict, and undoes the change.
func TestWindowIsSwitchedOnAndOff(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	tag := func() string {
		_, form, _ := strings.Cut(b.mustGet("/staff/settings").body, `id="window"`)
		_, tag, _ := strings.Cut(form, `name="tag" value="`)
		tag, _, _ = strings.Cut(tag, `"`)
		return strings.ReplaceAll(tag, "&#34;", `"`)
	}
	fields := []string{"enabled", "yes", "title", " Meet us ", "introduction", "One\r\nTwo", "origins", "https://www.example.com/\r\n\r\nhttps://example.org"}
	before := tag()
	b.post("/staff/settings/window", append(fields, "tag", before)...).wantRedirect("/staff/settings")
	want := shop.Window{Enabled: true, Title: "Meet us", Introduction: "One\nTwo", EmbedOrigins: []string{"https://www.example.com", "https://example.org"}}
	if got := shoptest.Must(s.Settings(t.Context()))(t).Window; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	b.mustGet("/staff/settings", "The shop window is on.", "Open the window", `<iframe src="/window?embed=1"`)
	b.post("/staff/settings/window", append(fields, "tag", before)...).want(409, "Someone else has changed the window")
	b.post("/staff/settings/window", "enabled", "yes", "title", "x", "origins", "http://example.com", "tag", tag()).want(422, "Must be https://", "http://example.com")
	b.post("/staff/settings/window", "title", "Meet us", "tag", tag()).wantRedirect("/staff/settings")
	if got := shoptest.Must(s.Settings(t.Context()))(t).Window; got.Enabled {
		t.Errorf("the window is still on: %+v", got)
	}
	b.undo("/staff/settings").wantRedirect("/staff/settings")
	if got := shoptest.Must(s.Settings(t.Context()))(t).Window; !reflect.DeepEqual(got, want) {
		t.Errorf("after Undo: got %+v, want %+v", got, want)
	}
}

// The page of an animal leads to its page in the shop window, if there is one.
func TestPublishedAnimalLeadsToTheWindow(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	pet := s.AddPet(t, "Bella", 1, shop.Available)
	const link = "View in the window"
	b.mustGet("/staff/pets/1").lacks(link)
	shoptest.Must(s.UpdateProfile(t.Context(), shop.Caller{}, pet.ID, shop.ProfileChange{Published: new(true)}, nil))(t)
	b.mustGet("/staff/pets/1").lacks(link)
	shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{Window: shop.WindowChange{Enabled: new(true)}}, nil))(t)
	b.mustGet("/staff/pets/1", link).contains(`href="/window/pets/1"`)
	shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, pet.ID, shop.PetChange{Status: new(shop.Sold)}, nil))(t)
	b.mustGet("/staff/pets/1").lacks(link)
}
