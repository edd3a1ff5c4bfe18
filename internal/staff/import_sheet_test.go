package staff

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// columnField returns the name of the form field for a column, or fails if the page does not have the column.
func (r response) columnField(title string) string {
	r.t.Helper()
	found := regexp.MustCompile(`name="(c-[0-9a-f]+)" aria-label="What the column ` + regexp.QuoteMeta(title) + ` means"`).FindStringSubmatch(r.body)
	if found == nil {
		r.t.Fatalf("the page has no column %q: %s", title, r.text())
	}
	return found[1]
}

// hidden returns the value of a hidden field, or "".
func (r response) hidden(name string) string {
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(r.body)
	if found == nil {
		return ""
	}
	return found[1]
}

// profileOf returns the writable members of a profile as JSON.
func (s *testShop) profileOf(id int64) string {
	s.t.Helper()
	profile := shoptest.Must(s.Profile(s.t.Context(), id))(s.t)
	profile.Pet = shop.Pet{}
	text, _, _ := strings.Cut(string(profile.AppendJSON(nil)), `,"updatedAt"`)
	_, text, _ = strings.Cut(text, `"published":`)
	return text
}

// A shelter's own file is imported with one click for the columns that fit nothing and one answer for its dates. The page
// says how it has read the file.
func TestShelterImportsItsOwnFile(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	file := string(shoptest.Must(os.ReadFile("../petcsv/testdata/shelter.csv"))(t))
	b.upload("/staff/import", file).want(200, "3 rows, read as UTF-8 with commas", "These columns fit nothing: ANIMALCODE , ANIMALTYPE , ANIMALWEIGHT . Choose below",
		"Ignore these 3 columns", "What does 05/11/2024 mean?", "5 Nov 2024 (day first) 11 May 2024 (month first)", "14 columns imported, 1 ignored").lacks(`id="import-now"`, "To add")
	previewed := b.upload("/staff/import", file, "ignore", "all", "dates", "day", "all-status", "available").want(200, "3 To add", "4 ignored",
		"2 Biscuit Dog Available breed Staffordshire Bull Terrier second breed Whippet sex male date of birth 3 Apr 2021 size medium date of arrival 5 Nov 2024 neutered yes",
		"microchip 977200009123456 location Kennel 4", "4 Thumper Rabbit").lacks("fit nothing", "id=\"ignore-columns\"")
	sum, once := previewed.importFields()
	answers := []string{"ignore", "all", "dates", "day", "all-status", "available", "sum", sum, "once", once}
	// Another answer makes another import, which must be previewed first.
	b.upload("/staff/import", file, append([]string{"dates", "month"}, answers...)...).want(200, "date of arrival 11 May 2024", "To add")
	s.wantPetCount(0)
	for range 2 {
		b.upload("/staff/import", file, answers...).want(200, "3 animals added")
		s.wantPetCount(3)
	}
	b.mustGet("/staff/saved?form=" + once).contains("saved")
	b.mustGet("/staff/saved?form=other").contains("unknown")
	if pet, err := s.Pet(t.Context(), 1, nil); err != nil || pet != (shop.Pet{ID: 1, Name: "Biscuit", CategoryID: 1, Status: shop.Available}) {
		t.Errorf("got the animal %+v (%v)", pet, err)
	}
	if got, want := s.profileOf(2), `false,"breeds":["Domestic Short Hair"],"sex":"female","birthDate":"2022-05-23","size":"small","arrivalDate":"2024-12-01","traits":{"neutered":true},"location":"Cattery"`; got != want {
		t.Errorf("got the profile %s, want %s", got, want)
	}
}

// Columns are matched as the user chooses, for this file and the next one with the same titles. A field can have one
// column, and no file is imported without the names, categories and currency that it needs.
func TestUserCorrectsTheColumns(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	file := "Who;What;Cost\nRex;Dog;$20\nMia;Cat;15\n"
	first := b.upload("/staff/import", file).want(200, "Which column has the names of the animals?", "These columns fit nothing: Who , What", "Currency of amounts without one", "Enter the currency").lacks("To add")
	who, what := first.columnField("Who"), first.columnField("What")
	b.upload("/staff/import", file, who, "name", what, "name").want(200, "Several columns are matched to “Name”").lacks("To add")
	b.upload("/staff/import", file, who, "name", what, "ignore", "currency", "euro").want(200, "No column says which category the animals have", "This is not the code of a currency").lacks("To add")
	previewed := b.upload("/staff/import", file, who, "name", what, "ignore", "currency", " cad", "all-category", "Pets").want(200, "2 Rex Pets No status price 20 CAD 3 Mia Pets No status price 15 CAD")
	sum, once := previewed.importFields()
	b.upload("/staff/import", strings.Replace(file, "Mia", "Tom", 1), who, "name", what, "category", "currency", "CAD").want(200, "3 Tom Cat No status price 15 CAD")
	b.upload("/staff/import", file, who, "name", what, "ignore", "currency", "cad", "all-category", "Pets", "sum", sum, "once", once).want(200, "2 animals added")
	if got := s.profileOf(2); got != `false,"price":{"amount":"15","currency":"CAD"}` {
		t.Errorf("got the profile %s", got)
	}
	shoptest.Must(s.UpdateSettings(t.Context(), shop.Caller{}, shop.SettingsChange{Currency: new("NOK"), Kind: new(shop.KindShelter)}, nil))(t)
	b.upload("/staff/import", file, who, "name", what, "category").want(200, "adoption fee 20 USD", "adoption fee 15 NOK")
	b.upload("/staff/import", "name,kind,sold\nRex,Dog,1\n", "ignore", "all").want(200, "Status of new animals No status Available Reserved Adopted")
}

// The rows with problems are left out of the import and downloaded in the user's own columns, with what to correct.
// Corrected, they are imported like the others.
func TestLeftOutRowsAreCorrectedAndImported(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	mia := s.AddPet(t, "Mia", 1, shop.Available)
	export := strings.Split(b.mustGet("/staff/export/animals.csv?include=profile").body, "\r\n")
	column := map[string]int{}
	for i, title := range strings.Split(strings.TrimPrefix(export[0], "\ufeff"), ",") {
		column[title] = i
	}
	line := func(base string, values ...string) string {
		cells := strings.Split(base, ",")
		for i := 0; i < len(values); i += 2 {
			cells[column[values[i]]] = values[i+1]
		}
		return strings.Join(cells, ",") + "\r\n"
	}
	empty := strings.Repeat(",", len(column)-1)
	file := export[0] + "\r\n" + line(export[1], "color", "black") + line(empty, "name", "=Rex", "category", "Dogs", "birthDate", "31.02.2024", "notes", "-") +
		line(export[1], "color", "white") + line(empty, "name", "Tom", "category", "Dogs") + line(empty, "category", "Dogs", "sex", "robot")
	previewed := b.upload("/staff/import", file).want(200, "3 Rows with problems 1 To add 1 To change", "Add 1 and change 1", "The 3 rows with problems are left out",
		`3 =Rex “birthDate” must be a date such as 2024-12-31, not "31.02.2024".`, "4 Mia Row 2 has the same animal. Keep one of the two rows.", "6 The row has no name.",
		"2 1 Mia colour none → black", "5 Tom Dogs")
	left := previewed.hidden("left")
	sum, once := previewed.importFields()
	b.upload("/staff/import", file, "sum", sum, "once", once).want(200, "Add 1 and change 1") // the rows that are left out belong to the import
	s.wantPetCount(1)
	download := func() response {
		got := b.upload("/staff/import/left-out.csv", file, "left", left).want(200)
		if disposition := got.header.Get("Content-Disposition"); disposition != `attachment; filename="rows-to-correct.csv"` {
			t.Errorf("got the Content-Disposition %s", disposition)
		}
		return got.contains("\ufeffPlease correct,id,name,", "\r\n\"“birthDate” must be a date", ",'=Rex,", "\r\nRow 2 has the same animal. Keep one of the two rows.", "\r\n\"The row has no name. ")
	}
	download()
	done := b.upload("/staff/import", file, "left", left, "sum", sum, "once", once).want(200, "1 animal added, 1 animal changed, 0 unchanged", "3 rows with problems were left out", "Download these 3 rows")
	if done.hidden("left") != left {
		t.Errorf("the page has lost the rows that were left out")
	}
	bad := download().body // the row that was changed is not one of them, although its version is old now
	if lines := strings.Count(bad, "\r\n"); lines != 4 {
		t.Errorf("got %d lines, want 4: %s", lines, bad)
	}
	corrected := strings.NewReplacer("31.02.2024", "29.02.2024", "robot", "f", ",,,,,Dogs,", ",Leo,,,,Dogs,").Replace(bad)
	previewed = b.upload("/staff/import", corrected).want(200, "1 Row with a problem 2 To add", "The profile of this animal has been changed since the file was exported", "2 =Rex Dogs No status date of birth 29 Feb 2024",
		"4 Leo Dogs No status sex female", "32 columns imported, 2 ignored")
	sum, once = previewed.importFields()
	b.upload("/staff/import", corrected, "left", previewed.hidden("left"), "sum", sum, "once", once).want(200, "2 animals added")
	if got := s.profileOf(mia.ID); got != `false,"color":"black"` {
		t.Errorf("got the profile %s", got)
	}
	s.wantPetCount(4)
}

// A file with more rows than an import can have is imported in parts.
func TestLargeFileIsImportedInParts(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	var file strings.Builder
	file.WriteString("Tiername;Art\n")
	for i := range shop.MaxImport + 2 {
		fmt.Fprintf(&file, "Rex %d;Dog\n", i)
	}
	b = b.withHTMX()
	previewed := b.upload("/staff/import", file.String()).want(200, "10 002 rows", "the file is imported in 2 parts. This is part 1", "10 000 To add")
	sum, once := previewed.importFields()
	part := previewed.hidden("part")
	done := b.upload("/staff/import", file.String(), "part", part, "sum", sum, "once", once).want(200, "10 000 animals added", "This was part 1 of 2. The rest of the file is not imported yet.", "Go on with part 2")
	next := done.hidden("next")
	previewed = b.upload("/staff/import", file.String(), "part", part, "next", next).want(200, "This is part 2", "2 To add", "10002 Rex 10000 Dog", "10003 Rex 10001 Dog")
	sum, once = previewed.importFields()
	b.upload("/staff/import", file.String(), "part", part, "sum", sum, "once", once).want(200, "10 000 To add") // another part than that of the preview
	b.upload("/staff/import", file.String(), "part", previewed.hidden("part"), "sum", sum, "once", once).want(200, "2 animals added").lacks("Go on")
	b.upload("/staff/import", "name;kind\nRex;Dog\n", "part", next).want(200, "2 Rex Dog") // the part of another file
	s.wantPetCount(shop.MaxImport + 2)
}

// No developers' words are on the page, also not in the problems of a row.
func TestImportUsesWordsOfPeople(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	rex := s.AddPet(t, "Rex", 1, shop.Sold)
	shoptest.Must(s.CreateCategory(t.Context(), shop.Caller{}, "Dogs"))(t)
	for _, id := range []int64{8, 9} {
		shoptest.Must(s.PutCategory(t.Context(), shop.Caller{}, shop.Category{ID: id, Name: "Cats"}, shop.PutCondition{}))(t)
	}
	tag := strings.Trim(rex.ETag(), `"`)
	for row, want := range map[string]string{
		"7,x,Max,2,,,":              "There is no animal with this number. Remove the number to add the animal.",
		"1,,Max,2,,,":               "The row has the number of an animal, but not its version from the export.",
		",x,Max,2,,,":               "The row has the version of an animal, but not its number. Remove the version to add the animal.",
		"1," + tag + ",Max,2,,Pen,": "The status cannot be removed; animal 1 is sold.",
		",,Max,,Cats,,":             "Several categories have this name: categories 8, 9. Give all but one of them another name first.",
		",,Max,2,Cats,,":            "The name and the number of the category do not belong together: category 2 is \"Dogs\"; remove one of the two.",
		",,Max,,,,":                 "The row has no category.",
		",,Max,2,,," + "5":          "The price needs a currency, such as EUR.",
		",,Max,2,," + strings.Repeat("x", 101) + ",": "“My pen” must have 1 to 100 characters, not",
	} {
		got := b.upload("/staff/import", "ID,ETag,Name,CategoryId,Category,My pen,Cost\n"+row+"\n", "c-0", "x", "currency", "EUR")
		got = b.upload("/staff/import", "ID,ETag,Name,CategoryId,Category,My pen,Cost\n"+row+"\n", got.columnField("My pen"), "location", "currency", "EUR")
		if want == "The price needs a currency, such as EUR." {
			got = b.upload("/staff/import", "ID,Profile ETag,Price\n1,"+strings.Trim(shop.Profile{}.MembersETag(), `"`)+",5\n", "currency", "EUR")
		}
		got.want(200, want)
		text := regexp.MustCompile(`(?s)Problems.*`).FindString(got.text())
		if found := regexp.MustCompile(`(?i)etag|\bids?\b|categoryId`).FindString(text); found != "" {
			t.Errorf("%s: the page says %q: %s", row, found, text)
		}
	}
}
