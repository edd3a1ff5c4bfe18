package staff

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// settingsFields returns the fields of the form on the page, with the given ones changed.
func (b *browser) settingsFields(changed ...string) []string {
	b.t.Helper()
	_, tag, _ := strings.Cut(b.mustGet("/staff/settings").body, `name="tag" value="`)
	tag, _, _ = strings.Cut(tag, `"`)
	fields := map[string]string{"kind": "shop", "tag": strings.ReplaceAll(tag, "&#34;", `"`)}
	for i := 0; i < len(changed); i += 2 {
		fields[changed[i]] = changed[i+1]
	}
	var list []string
	for name, value := range fields {
		list = append(list, name, value)
	}
	return list
}

func TestSettingsAreSavedAndUndone(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	window := shop.WindowChange{Title: new("Our animals")}
	first := shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{Name: new("Paws"), Phone: new("1"), Window: window}, nil))(t)
	b.post("/staff/settings", b.settingsFields("name", " Happy Paws ", "address", "\r\nRoad 1\r\n\r\n Town\r\n", "currency", "eur", "time-zone", "Europe/Berlin",
		"email", "a@b.example", "website", "https://example.com", "kind", "shelter")...).wantRedirect("/staff/settings")
	want := shop.Settings{
		Name: "Happy Paws", Email: "a@b.example", Address: []string{"Road 1", "Town"}, Website: "https://example.com", Currency: "EUR", TimeZone: "Europe/Berlin",
		Kind: shop.KindShelter, Window: shop.Window{Title: "Our animals"},
	}
	if got := shoptest.Must(s.Settings(t.Context()))(t); !reflect.DeepEqual(got, want) {
		t.Errorf("the settings are %+v, want %+v", got, want)
	}
	b.undo("/staff/settings").wantRedirect("/staff/settings")
	b.mustGet("/staff/settings", "The settings are as before.")
	if got := shoptest.Must(s.Settings(t.Context()))(t); !reflect.DeepEqual(got, first) {
		t.Errorf("the settings are %+v, want %+v", got, first)
	}
	b.mustGet("/staff/activity?kind=settings", "changed the settings")

	// Nothing is undone if someone has changed the settings since.
	b.post("/staff/settings", b.settingsFields("name", "Paws & Co")...)
	shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{Phone: new("2")}, nil))(t)
	b.undo("/staff/settings")
	b.mustGet("/staff/settings", "Someone has changed the settings in the meantime, so nothing was undone.")
	// If nothing was changed, there is no Undo button.
	b.post("/staff/settings", b.settingsFields("name", "Paws & Co", "phone", "2")...)
	b.mustGet("/staff/settings", "The settings were saved.").lacks("Undo</button>")
}

func TestInvalidSettingsAreShownAgain(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.post("/staff/settings", b.settingsFields("name", "Paws", "time-zone", "Berlin")...).
		want(422, "Nothing was saved.", "Must be the name of a time zone, such as Europe/Berlin or UTC.").
		contains(`value="Paws"`, `value="Berlin"`, `aria-describedby="time-zone-problem"`)
	b.post("/staff/settings", b.settingsFields("address", "1\n2\n3\n4\n5\n6", "email", "x")...).
		want(422, "Must have one @ with text on both sides.", "Must have at most 5 items.")
	b.post("/staff/settings", b.settingsFields("kind", "zoo")...).want(422, "Must be one of shop, shelter.")
	if got := shoptest.Must(s.Settings(t.Context()))(t); !reflect.DeepEqual(got, shop.DefaultSettings()) {
		t.Errorf("the settings are %+v", got)
	}
}

// A form that was shown before someone else changed the settings does not overwrite them. It shows both values.
func TestSettingsConflictShowsBothValues(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	old := b.settingsFields("name", "Mine", "phone", "1")
	shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{Name: new("Theirs"), Phone: new("1")}, nil))(t)
	b.post("/staff/settings", old...).want(409, "Theirs: Theirs", "Save mine", "Keep theirs").contains(`value="Mine"`).lacks("Theirs: 1")
	// A change of the window is not a conflict, because the page does not show it.
	fields := b.settingsFields("name", "Mine")
	shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{Window: shop.WindowChange{Enabled: new(true)}}, nil))(t)
	b.post("/staff/settings", fields...).wantRedirect("/staff/settings")
}

// Only administrators see the settings.
func TestSettingsNeedAdmin(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.mustGet("/").contains(`href="/staff/settings"`)
	other := s.signedIn(s.Key(t, shop.RoleStaff.Scopes()...).Secret)
	other.mustGet("/").lacks(`href="/staff/settings"`)
	other.get("/staff/settings").want(403)
	other.post("/staff/settings", "kind", "shop").want(403)
	other.post("/staff/settings/undo").want(403)
}

// The page says in plain words how the service does and when it was last backed up.
func TestSettingsShowHealthAndBackups(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		config Config
		want   []string
	}{
		"no backups":     {Config{}, []string{"Nobody backs up this shop on a schedule."}},
		"on a server":    {Config{OnServer: true}, []string{"The data is on a database server."}},
		"none yet":       {Config{Backups: func() Backups { return Backups{Every: time.Hour} }}, []string{"There is no backup yet.", "every hour"}},
		"recent":         {Config{Backups: func() Backups { return Backups{Last: now, Every: 24 * time.Hour} }}, []string{"The last backup was made on " + now.UTC().Format("2 Jan 2006"), "every day"}},
		"late":           {Config{Backups: func() Backups { return Backups{Last: now.Add(-time.Hour), Every: 10 * time.Minute} }}, []string{"every 10 minutes", "older than it should be"}},
		"with a problem": {Config{Backups: func() Backups { return Backups{Last: now, Every: 36 * time.Hour, Problems: 1} }}, []string{"every 36 hours", "1 problem found in the last backup"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.config.Version = "1.2.3"
			s := newShop(t, c.config)
			b := s.signedIn(configuredKey)
			b.mustGet("/staff/settings", append(c.want, "Version 1.2.3")...)
			for !strings.Contains(b.mustGet("/staff/settings").text(), "Everything works.") { // a busy machine may not be ready at once
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// The shop's name is on every page and on paper, and its address on receipts. A stranger does not see it.
func TestNameOfTheShopIsShown(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.addOrderedPet("Rex")
	b.mustGet("/").contains("<title>Today · animalstore</title>", "<span>animalstore</span>")
	shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{
		Name: new("Paws <&"), Address: &[]string{"Road 1", "Town"}, Phone: new("030"), Email: new("a@b.example"), Website: new("https://example.com"),
	}, nil))(t)
	b.mustGet("/").contains("<title>Today · Paws &lt;&amp;</title>", "<span>Paws &lt;&amp;</span>")
	b.mustGet("/staff/orders/1/print", "Paws <&", "Road 1 Town 030 a@b.example https://example.com")
	b.mustGet("/staff/pets/print", "Paws <&").lacks("Road 1")
	s.browser().mustGet("/staff/sign-in").lacks("Paws")
}

// A shelter has words of its own.
func TestShelterHasItsOwnWords(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.addOrderedPet("Rex sold to a customer")
	s.AddPet(t, "Mia", 1, shop.Sold)
	shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{Kind: new(shop.KindShelter)}, nil))(t)
	b.mustGet("/", "Adopted", "Arrivals and adoptions").lacks("Sales", "Sold<")
	b.mustGet("/staff/pets", "Adopted", "Rex sold to a customer").lacks("Sold<")
	b.mustGet("/staff/orders", "Rex sold to a customer").contains(`placeholder="Find by adopter"`)
	b.mustGet("/staff/orders/1", "Note", "Rex sold to a customer").lacks("Customer")
	b.mustGet("/staff/orders/1/print", "For the shelter", "Adopter")
	b.mustGet("/staff/categories", "Adopted")
	b.post("/staff/pets/2/status", "was", "sold", "to", "available")
	b.mustGet("/staff/pets/2", "Mia is now available.", "from adopted to available", "Mark as adopted")
}

// Days and times are those of the time zone in the settings.
func TestPagesUseTheTimeZoneOfTheSettings(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.mustGet("/").contains(`data-zone="UTC"`)
	shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{TimeZone: new("Asia/Kathmandu")}, nil))(t)
	b.mustGet("/").contains(`data-zone="Asia/Kathmandu"`)
	pet := s.addOrderedPet("Rex")
	order := shoptest.Must(s.Order(t.Context(), 1))(t)
	b.mustGet("/staff/pets/1", order.CreatedAt.In(shoptest.Zone("Asia/Kathmandu")).Format("2 Jan 2006, 15:04"), pet.Name)
}
