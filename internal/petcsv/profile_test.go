package petcsv

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"animalstore/internal/shop"
)

func allProfileColumns() string {
	var names []string
	for _, column := range profileColumns {
		names = append(names, column.name)
	}
	return strings.Join(names, ",")
}

// The file with the profile of an animal is standard CSV, and the profile that is read is the one that was written. Only
// spaces around tags are lost.
func TestProfileRoundTrip(t *testing.T) {
	t.Parallel()
	texts := rapid.StringOf(rapid.OneOf(rapid.RuneFrom([]rune("=+-@'\"＝＠,; a\n")), rapid.Rune()))
	answers := rapid.SampledFrom([]shop.Answer{shop.Unknown, shop.No, shop.Yes})
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string, problem func(string) string) string {
			text := texts.Draw(t, name)
			if problem(text) != "" {
				return rapid.SampledFrom([]string{"", "-", " -", "'-", "yes"}).Draw(t, name)
			}
			return text
		}
		p := shop.Profile{
			Published: rapid.Bool().Draw(t, "published"), Description: text("description", shop.DescriptionProblem), Color: text("color", shop.ShortTextProblem),
			Mixed: answers.Draw(t, "mixed"), BirthDateEstimated: answers.Draw(t, "estimated"), Sex: rapid.SampledFrom(append(shop.Sexes(), "")).Draw(t, "sex"),
			Size: rapid.SampledFrom(append(shop.Sizes(), "")).Draw(t, "size"), Location: text("location", shop.ShortTextProblem), Notes: text("notes", shop.DescriptionProblem),
			BirthDate: rapid.SampledFrom([]string{"", "2020-02-29"}).Draw(t, "birth"), ArrivalDate: rapid.SampledFrom([]string{"", "2026-01-31"}).Draw(t, "arrival"),
			ContactURL: rapid.SampledFrom([]string{"", "https://example.com/?a=1,=2;+3"}).Draw(t, "URL"), Microchip: rapid.SampledFrom([]string{"", "000098106123456"}).Draw(t, "chip"),
			Price: rapid.SampledFrom([]shop.Price{{}, {Amount: "250.00", Currency: "EUR"}, {Amount: "0", Currency: "JPY"}, {Amount: "1.005", Currency: "KWD"}}).Draw(t, "price"),
		}
		for i := range p.Traits {
			p.Traits[i] = answers.Draw(t, "trait")
		}
		for range rapid.IntRange(0, 2).Draw(t, "breeds") {
			if breed := text("breed", shop.ShortTextProblem); breed != "" {
				p.Breeds = append(p.Breeds, breed)
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "tags") {
			if tag := strings.Trim(text("tag", shop.TagProblem), " "); tag != "" {
				p.Tags = append(p.Tags, tag)
			}
		}
		p.Description, p.Notes = strings.ReplaceAll(p.Description, "\r\n", "\n"), strings.ReplaceAll(p.Notes, "\r\n", "\n")
		p = shop.ProfileRow{ProfileChange: shop.ProfileChange{Tags: &p.Tags}}.Apply(p) // merges tags that are repeated
		w := ProfileWriter{Internal: true}
		file := w.Append(w.AppendHeader(nil), shop.ExportRow{Pet: shop.Pet{ID: 7, Name: "Rex", CategoryID: 1}, Profile: &p, ProfileETag: p.MembersETag()})
		records, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		if err != nil || len(records) != 2 {
			t.Fatalf("%s\nencoding/csv reads %q %v, want two records", file, records, err)
		}
		rows, err := ReadProfiles(file)
		if err != nil || len(rows) != 1 || len(rows[0].Problems) > 0 || rows[0].ProfileETag != p.MembersETag() {
			t.Fatalf("%s\ngot %+v %v", file, rows, err)
		}
		if got, want := string(rows[0].Profile.Apply(shop.Profile{}).AppendJSON(nil)), string(p.AppendJSON(nil)); got != want {
			t.Fatalf("%s\ngot  %s\nwant %s", file, got, want)
		}
	})
}

// A profile can be written as people and spreadsheet programs write it.
func TestProfileCellsAreRead(t *testing.T) {
	t.Parallel()
	const header = "id;Profile ETag;Published;Mixed;SEX;Size;price;Currency;Tags;Good with dogs;good_with_cats;Description;photo;breed;Second Breed\n"
	for line, want := range map[string]string{
		`7;x;YES;True;Female;Extra-Large;199,5;eur;calm, big ,,;no;FALSE;"a` + "\r\n" + `b";/photos/x;;`: `{"published":true,"description":"a\nb","breeds":["Beagle","Boxer"],"mixed":true,"sex":"female","size":"extra-large",` +
			`"price":{"amount":"199.5","currency":"EUR"},"traits":{"neutered":true,"goodWithDogs":false,"goodWithCats":false},"tags":["calm","big"]}`,
		`7;x;;;;;;;;;;;;;`:                     `{"published":false,"description":"old","breeds":["Beagle","Boxer"],"price":{"amount":"250.00","currency":"EUR"},"traits":{"neutered":true},"tags":["old"]}`,
		`7;x;no;-; - ;-;-;USD;-;-;-;-;-;-;Pug`: `{"published":false,"breeds":["Pug"],"traits":{"neutered":true}}`,
		`7;x;;;;;;USD;;;;'-;;"Ca ";-`:          `{"published":false,"description":"-","breeds":["Ca "],"price":{"amount":"250.00","currency":"USD"},"traits":{"neutered":true},"tags":["old"]}`,
	} {
		rows, err := ReadProfiles([]byte(header + line))
		if err != nil || len(rows) != 1 || len(rows[0].Problems) > 0 || !rows[0].ProfileOnly || *rows[0].ID != 7 || rows[0].ProfileETag != "x" {
			t.Errorf("%s: got %+v %v", line, rows, err)
			continue
		}
		old := shop.Profile{Description: "old", Breeds: []string{"Beagle", "Boxer"}, Tags: []string{"old"}, Price: shop.Price{Amount: "250.00", Currency: "EUR"}, Traits: shop.Traits{shop.Neutered: shop.Yes}}
		profile := old
		if rows[0].Profile != nil {
			profile = rows[0].Profile.Apply(old)
		}
		_, got, _ := strings.Cut(string(profile.AppendJSON(nil)), `},`)
		if "{"+got != want {
			t.Errorf("%s: got {%s, want %s", line, got, want)
		}
	}
}

// A cell that cannot be read is reported with the name of its column.
func TestProfileCellsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"published", "-", "published must be yes or no, and cannot be removed"},
		{"published", "x", "published must be yes or no, and cannot be removed"},
		{"mixed", "maybe", `mixed must be yes or no, not "maybe"`},
		{"Good With Dogs", "1", `goodWithDogs must be yes or no, not "1"`},
		{"price", "250 EUR", `price must be an amount without a currency, such as 250.00, not "250 EUR"`},
		{"price", "1,000", `price must be an amount without a currency, such as 250.00, not "1,000"`},
		{"price", "-5", `price must be an amount without a currency, such as 250.00, not "-5"`},
		{"second breed", strings.Repeat("x", 101), "secondBreed must have 1 to 100 characters, not 101"},
	} {
		rows, err := ReadProfiles([]byte("name\tcategory\t" + c[0] + "\nRex\tDogs\t" + c[1] + "\n"))
		if err != nil || rows[0].Problems.String() != c[2] {
			t.Errorf("%s: got %+v %v, want %s", c[1], rows, err, c[2])
		}
	}
	for header, want := range map[string]string{
		"name,category,breed,Breed": `The header line names the column "Breed" twice; name each column once.`,
		"id,breed":                  "The header line lacks the column name; the columns are name, categoryId or category, and optionally status, id, etag and those of profiles.",
		"id,profileEtag,status":     "The header line lacks the column name; the columns are name, categoryId or category, and optionally status, id, etag and those of profiles.",
		"name,category,colour":      `The header line names an unknown column "colour"; the columns are name, categoryId or category, and optionally status, id, etag and those of profiles.`,
	} {
		if _, err := ReadProfiles([]byte(header + "\n")); err == nil || shop.AsError(err).Message != want {
			t.Errorf("%s: got %v, want %s", header, err, want)
		}
	}
	if _, err := Read([]byte("name,category,breed\n")); err == nil || !strings.Contains(err.Error(), `an unknown column "breed"`) {
		t.Errorf("without profiles: got %v", err)
	}
}
