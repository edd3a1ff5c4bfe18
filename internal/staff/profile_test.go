package staff

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// tag returns the entity tag in the form of a section.
func (b *browser) tag(section string) string {
	b.t.Helper()
	page := b.mustGet("/staff/pets/1/profile/" + section).body
	tag := hiddenFields(page)
	for i := 0; i+1 < len(tag); i += 2 {
		if tag[i] == "tag" {
			return tag[i+1]
		}
	}
	b.t.Fatalf("the form of %s has no tag: %s", section, page)
	return ""
}

// profile returns the profile of the only animal.
func (s *testShop) profile() shop.Profile {
	s.t.Helper()
	return shoptest.Must(s.Profile(s.t.Context(), 1))(s.t)
}

func TestProfileIsEditedSectionBySection(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	b.mustGet("/staff/pets/1", "No photos yet", "No description yet", "No price yet", "Nothing known yet", "Internal Only staff",
		"Only staff and partners see this profile", "Still missing: a photo , a description , the breed , the sex , the date of birth , the price .")
	for section, fields := range map[string][]string{
		"facts": {"breed", " Beagle ", "second-breed", "Pug", "mixed", "yes", "sex", "male", "birth-date", "2020-05-01", "birth-date-estimated", "yes",
			"size", "extra-large", "color", "Tri", "arrival-date", "2021-01-02"},
		"price":    {"amount", "250", "currency", "eur", "contact-url", "mailto:rex@example.com"},
		"about":    {"description", "Loves walks.\r\n<b>Really</b>.", "tags", "calm, ,Kids, calm"},
		"traits":   {"neutered", "yes", "goodWithCats", "no", "vaccinated", ""},
		"internal": {"microchip", "276 0941 0000 0123", "location", "Kennel 4", "notes", "Bites\nthe vet"},
	} {
		b.mustGet("/staff/pets/1/profile/"+section, "Edit Rex", "Save", "Cancel").contains("<html")
		b.withHTMX().mustGet("/staff/pets/1/profile/" + section).contains(`id="profile-` + section + `"`).lacks("<html")
		b.post("/staff/pets/1/profile/"+section, append(fields, "tag", b.tag(section))...).wantRedirect("/staff/pets/1")
	}
	b.mustGet("/staff/pets/1", "Beagle × Pug, mixed", "Male", "About", "born 2020-05-01", "Extra-large", "Tri", "2021-01-02", "EUR 250", "rex@example.com",
		"Loves walks. <b>Really</b>.", "calm Kids", "Neutered : yes", "Good with cats : no", "276094100000123", "Kennel 4", "Bites the vet", "Still missing: a photo .").
		lacks("<b>Really", "Vaccinated")
	profile := s.profile()
	if profile.Description != "Loves walks.\n<b>Really</b>." || profile.Price != (shop.Price{Amount: "250", Currency: "EUR"}) || len(profile.Tags) != 2 {
		t.Errorf("got the profile %+v", profile)
	}
	// What is removed from a form is removed from the profile.
	b.post("/staff/pets/1/profile/price", "tag", b.tag("price"), "amount", "", "currency", "EUR").wantRedirect("/staff/pets/1")
	if profile := s.profile(); profile.Price != (shop.Price{}) || profile.ContactURL != "" {
		t.Errorf("got the price %+v and the contact %q", profile.Price, profile.ContactURL)
	}
	for _, path := range []string{"/staff/pets/1/profile/publish", "/staff/pets/1/profile/x", "/staff/pets/9/profile/about"} {
		b.get(path).want(404)
	}
	b.post("/staff/pets/9/profile/about", "tag", "x").want(404)
	b.mustGet("/staff/activity?animal=1", "changed the profile of Rex")
}

// Internal members are shown only to users who may write. Without that scope, nothing can be edited.
func TestInternalMembersAreShownToWritersOnly(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	shoptest.Must(s.UpdateProfile(t.Context(), shop.Caller{}, 1, shop.ProfileChange{
		Description: new("Friendly"), Microchip: new("276094100000123"), Location: new("Kennel 4"), Notes: new("Bites"),
	}, nil))(t)
	reader := s.signedIn(s.Key(t, shop.PetsRead, shop.EventsRead).Secret)
	reader.mustGet("/staff/pets/1", "Friendly", "Published No", "Still missing: a photo, the breed").lacks("276094100000123", "Kennel 4", "Bites", "Internal", "/profile/")
	reader.get("/staff/pets/1/profile/internal").want(403)
	reader.post("/staff/pets/1/profile/publish", "published", "yes").want(403)
	s.signedIn(configuredKey).mustGet("/staff/pets/1", "276094100000123", "Kennel 4", "Bites")
}

func TestProfilesArePublishedWithASwitch(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	press := func(b *browser) response {
		t.Helper()
		form := regexp.MustCompile(`(?s)<form method="post" action="(/staff/pets/1/profile/publish)".*?</form>`).FindStringSubmatch(b.mustGet("/staff/pets/1").body)
		return b.post(form[1], hiddenFields(form[0])...)
	}
	b.mustGet("/staff/pets/1").contains(`role="switch" aria-checked="false"`)
	press(b).wantRedirect("/staff/pets/1")
	if !s.profile().Published {
		t.Error("the profile is not published")
	}
	b.undo("/staff/pets/1").wantRedirect("/staff/pets/1")
	b.mustGet("/staff/pets/1", "Rex is as before.").contains(`role="switch" aria-checked="false"`)
	press(b.withHTMX()).want(200, "Rex is published.", `"undo":"/staff/pets/1/profile/publish"`).contains(`id="pet-detail"`, `aria-checked="true"`).lacks("<html")
	press(b.withHTMX()).want(200, "Rex is no longer published.")
	b.post("/staff/pets/1/profile/publish", "published", "yes", "tag", "old").want(412, "Someone else has changed this")
	b.withHTMX().post("/staff/pets/1/profile/publish", "published", "yes", "tag", "old").want(200, "Someone else has changed this")
	b.mustGet("/staff/activity?animal=1", "published Rex", "stopped publishing Rex")
}

func TestProblemsAreShownBesideTheirFields(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	for section, c := range map[string]struct {
		fields []string
		want   string
	}{
		"facts":    {[]string{"birth-date", "2999-01-01", "breed", strings.Repeat("x", 101)}, "Must not be in the future."},
		"price":    {[]string{"amount", "cheap", "currency", "EUR"}, "Must be a decimal number of 0 or more, such as 250.00."},
		"about":    {[]string{"tags", strings.Repeat("x", 51)}, "Must have 1 to 50 characters, not 51."},
		"internal": {[]string{"microchip", "12"}, "Must have 9 to 15 letters and digits."},
	} {
		form := append(c.fields, "tag", b.tag(section))
		b.post("/staff/pets/1/profile/"+section, form...).want(422, c.want).contains(`aria-invalid="true"`, `value="`+c.fields[1]+`"`)
		got := b.withHTMX().post("/staff/pets/1/profile/"+section, form...).want(200, c.want).lacks("<html")
		if target := got.header.Get("HX-Retarget"); target != "#profile-"+section {
			t.Errorf("the response replaces %q", target)
		}
	}
	if profile := s.profile(); !profile.UpdatedAt.IsZero() {
		t.Errorf("got the profile %+v, want an empty one", profile)
	}
}

// Two people may edit different sections at the same time. The second change of the same section is shown, and not saved.
func TestConflictingProfilesAreShownNotSaved(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	about, facts := b.tag("about"), b.tag("facts")
	shoptest.Must(s.UpdateProfile(t.Context(), shop.Caller{}, 1, shop.ProfileChange{Description: new("Theirs")}, nil))(t)
	b.post("/staff/pets/1/profile/facts", "tag", facts, "sex", "female").wantRedirect("/staff/pets/1")
	conflict := b.post("/staff/pets/1/profile/about", "tag", about, "description", "Mine").
		want(409, "Someone else changed this while you were editing it", "Theirs (current): Theirs", "Mine", "Save mine", "Keep theirs")
	b.withHTMX().post("/staff/pets/1/profile/about", "tag", about, "description", "Mine").want(200, "Someone else changed this").lacks("<html")
	if got := s.profile().Description; got != "Theirs" {
		t.Errorf("the description is %q", got)
	}
	b.post("/staff/pets/1/profile/about", append(hiddenFields(conflict.body), "description", "Mine")...).wantRedirect("/staff/pets/1")
	if got := s.profile(); got.Description != "Mine" || got.Sex != shop.Female {
		t.Errorf("got the profile %+v", got)
	}
}

// A change of a profile can be undone for 24 hours, however long its texts are, unless somebody has changed the section
// since. Neither a header nor a cookie contains the texts.
func TestChangesOfProfilesAreUndone(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	save := func(b *browser, text string) response {
		t.Helper()
		return b.post("/staff/pets/1/profile/internal", "tag", b.tag("internal"), "notes", text, "location", "Kennel 4")
	}
	wantNotes := func(want string) {
		t.Helper()
		if got := s.profile().Notes; got != want {
			t.Errorf("the notes have %d characters and not %d", len([]rune(got)), len([]rune(want)))
		}
	}
	long := strings.TrimSpace(strings.Repeat("🐕\n", 2000))
	save(b, "short").wantRedirect("/staff/pets/1")
	b.undo("/staff/pets/1").wantRedirect("/staff/pets/1")
	wantNotes("")
	save(b, long)
	save(b, "other").wantRedirect("/staff/pets/1")
	b.undo("/staff/pets/1").wantRedirect("/staff/pets/1")
	b.mustGet("/staff/pets/1", "Rex is as before.")
	wantNotes(long)

	saved := save(b.withHTMX().with("Idempotency-Key", "form-1"), "other").want(200, "Rex was saved.", `"about":"pet-1"`, `"undo":"form-1"`).contains(`id="pet-detail"`)
	if header := saved.header.Get("HX-Trigger"); len(header) > 200 {
		t.Errorf("a header has %d bytes", len(header))
	}
	save(b.withHTMX().with("Idempotency-Key", "form-2"), "more")
	undo := func(form string) response {
		t.Helper()
		return b.withHTMX().post("/staff/pets/1/profile/internal", "undo", form)
	}
	undo("form-1").want(200, "Someone has changed Rex in the meantime, so nothing was undone.")
	wantNotes("more")
	s.signedIn(s.Key(t, shop.PetsWrite).Secret).withHTMX().post("/staff/pets/1/profile/internal", "undo", "form-2").want(200, "Only a change of the last 24 hours can be undone.")
	undo("form-3").want(200, "Only a change of the last 24 hours can be undone.")
	s.Clock.Forward(25 * time.Hour)
	b.post("/staff/sign-in", "key", configuredKey)
	undo("form-2").want(200, "Only a change of the last 24 hours can be undone.")
	wantNotes("more")
	b.withHTMX().post("/staff/pets/1/profile/internal", "tag", b.tag("internal"), "notes", "more", "location", "Kennel 4").want(200, "Rex was saved.").lacksUndo()
}

func TestAgeIsShownInWords(t *testing.T) {
	t.Parallel()
	today := shop.Date{Year: 2026, Month: 3, Day: 1}
	for birth, want := range map[string]string{
		"": "", "2026-03-02": "", "2026-03-01": "0 days", "2026-02-28": "1 day", "2026-02-15": "2 weeks", "2025-12-02": "12 weeks", "2025-12-01": "3 months",
		"2024-03-02": "23 months", "2024-03-01": "2 years", "1980-01-01": "46 years",
	} {
		if got := age(shop.Profile{BirthDate: birth}, today); got != want {
			t.Errorf("an animal born on %q is %q, want %q", birth, got, want)
		}
	}
	if got := age(shop.Profile{BirthDate: "2020-01-01", BirthDateEstimated: shop.Yes}, today); got != "about 6 years" {
		t.Errorf("got %q", got)
	}
}

// The page of an animal is updated live if its profile changes.
func TestProfilesAreUpdatedLive(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	last := shoptest.Must(s.LastEvent(t.Context()))(t)
	shoptest.Must(s.UpdateProfile(t.Context(), shop.Caller{}, 1, shop.ProfileChange{Published: new(true)}, nil))(t)
	stream := s.signedIn(configuredKey).openLive(fmt.Sprint("/staff/live?after=", last))
	readUntil(t, stream, "pet-1", "pets", "activity")
}
