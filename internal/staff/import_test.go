package staff

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"html"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// upload sends a file in the same way as the import form.
func (b *browser) upload(path, content string, fields ...string) response {
	b.t.Helper()
	return b.uploadAs("animals.csv", path, content, fields...)
}

// uploadAs sends a file with the given name. Without a name, the form looks as if the user had chosen no file.
func (b *browser) uploadAs(name, path, content string, fields ...string) response {
	b.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i+1 < len(fields); i += 2 {
		form.WriteField(fields[i], fields[i+1])
	}
	file := shoptest.Must(form.CreateFormFile("file", name))(b.t)
	file.Write([]byte(content))
	form.Close()
	r := shoptest.Must(http.NewRequestWithContext(b.t.Context(), "POST", b.url+path, &body))(b.t)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return b.do(r)
}

// importFields returns the values of the hidden form fields in a preview.
func (r response) importFields() (sum, once string) {
	r.t.Helper()
	found := regexp.MustCompile(`name="sum" value="(\w+)".*name="once" value="(\w+)"`).FindStringSubmatch(r.body)
	if found == nil {
		r.t.Fatalf("the page has no import button: %s", r.text())
	}
	return found[1], found[2]
}

func (s *testShop) wantPetCount(n int64) {
	s.t.Helper()
	if got, err := s.Inventory(s.t.Context()); err != nil || got.Available+got.Pending+got.Sold+got.Unspecified != n {
		s.t.Errorf("the inventory is %+v (error %v), want %d animals", got, err, n)
	}
}

func TestImportAddsGoodRowsOnce(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.mustGet("/staff/import", "Choose the spreadsheet that you have")
	b.upload("/staff/import", "name,categoryId,status\n,2,\nMax,x,gone\n").want(200, "2 Rows with problems 0 To add 0 To change 0 Unchanged",
		"2 The row has no name. 3 Max", `“categoryId” must be a whole number without separators, such as 1234, not "x".`,
		`The status must be available, pending or sold, not "gone".`).lacks(`id="import-now"`)
	s.wantPetCount(0)
	file := "name;categoryId\n<b>Rex</b>;1\nMax;2\n"
	previewed := b.upload("/staff/import", file).
		want(200, "2 To add 0 To change 0 Unchanged Add 2 animals Nothing has been saved yet", "2 <b>Rex</b> Category 1 No status", "New categories: Category 1 , Category 2")
	s.wantPetCount(0)
	sum, once := previewed.importFields()
	// A different file must be previewed first.
	b.upload("/staff/import", file+"Other;3\n", "sum", sum, "once", once).want(200, "3 To add")
	s.wantPetCount(0)
	for range 2 { // sending the form twice imports the animals only once
		b.withHTMX().upload("/staff/import", file, "sum", sum, "once", once).want(200, "2 animals added")
		s.wantPetCount(2)
	}
	sum, once = b.upload("/staff/import", file).importFields()
	// A new preview allows a second import.
	b.upload("/staff/import", file, "sum", sum, "once", once).want(200, "2 animals added")
	s.wantPetCount(4)

	b.upload("/staff/import", "").want(422, "The file is empty")
	b.upload("/staff/import", "name,categoryId\n").want(200, "This file contains no animals")
	b.upload("/staff/import", "\xff\xfea").want(422, "UTF-16")
	b.upload("/staff/import", "PK\x03\x04").want(422, "save it as CSV")
	b.upload("/staff/import", strings.Repeat("x", maxImportBytes+maxFormBytes)).want(413, "8 MiB")
	b.post("/staff/import", "sum", "x").want(422, "could not be read")
	b.post("/staff/import/left-out.csv", "sum", "x").want(422, "could not be read")
	b.withHTMX().upload("/staff/import", "name,categoryId\n"+strings.Repeat(",1\n", 500)).
		want(200, "500 Rows with problems", "The first 100 of 500 are shown").lacks("<html")
}

// Without scripts, the preview page itself contains the uploaded file if the file is small, so that the user need
// not select it again.
func TestFileIsHeldWithoutScripts(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	previewed := b.upload("/staff/import", "name,category\r\nZoë,Dogs\r\n").want(200, "1 To add")
	sum, once := previewed.importFields()
	held := regexp.MustCompile(`name="held" value="([^"]+)"`).FindStringSubmatch(previewed.body)
	if held == nil {
		t.Fatalf("the page does not hold the file: %s", previewed.body)
	}
	b.uploadAs("", "/staff/import", "", "held", "no base64", "sum", sum, "once", once).want(422, "Choose a file")
	b.uploadAs("", "/staff/import", "", "held", held[1], "held-name", "animals.csv", "sum", sum, "once", once).want(200, "1 animal added")
	s.wantPetCount(1)
	b.upload("/staff/import", "name,category\n"+strings.Repeat("Zoë,Dogs\n", 5000)).want(200, "5 000 To add").contains(`name="held"`)
	b.upload("/staff/import", "name,category\n"+strings.Repeat("Zoë,"+strings.Repeat("D", 100)+"\n", 5000)).want(200, "Choose the same file again").lacks(`name="held"`)
	b.withHTMX().upload("/staff/import", "name,category\nZoë,Dogs\n").want(200, "1 To add").lacks(`name="held"`)
}

// The page repeats the name of the file, so a long name is cut off. Other fields that are too long are refused.
func TestLongFieldsOfAnImportAreNotRepeated(t *testing.T) {
	t.Parallel()
	_, b := signIn(t)
	const held = "bmFtZSxjYXRlZ29yeUlkClJleCwxCg==" // base64 for "name,categoryId\nRex,1\n"
	name := strings.Repeat("'", maxFileName-1)
	for _, page := range []response{
		b.uploadAs("", "/staff/import", "", "held", held, "held-name", name+"ö'").want(200, "1 To add"),
		b.uploadAs(name+"ö'", "/staff/import", "name,categoryId\nRex,1\n", "unknown", "field").want(200, "1 To add"),
	} {
		page.contains(`<h2 id="preview" tabindex="-1">` + html.EscapeString(name) + "</h2>")
	}
	long := strings.Repeat("'", 3*maxFieldBytes)
	for _, field := range []string{"held-name", "mode", "sum", "once", "left", "part", "all-category", "currency", "c-0123456789abcdef", "c-" + strings.Repeat("x", 99), "unknown"} {
		b.uploadAs("", "/staff/import", "", "held", held, field, long).want(422, "could not be read").lacks("&#39;&#39;")
	}
	b.uploadAs(strings.Repeat("'", 2*maxFormBytes), "/staff/import", "name,categoryId\nRex,1\n").want(422, "could not be read")
	b.uploadAs("", "/staff/import", "", "held", strings.Repeat("A", 2*maxHeldBytes)).want(422, "could not be read")
	full := base64.StdEncoding.EncodeToString([]byte("name,categoryId\nRex,1\n" + strings.Repeat("\n", maxHeldBytes-22)))
	b.uploadAs("", "/staff/import", "", "held", full).want(200, "1 To add") // the largest file that a page can hold
}

// Importing an edited export changes the animals with an id and adds those without one. The preview shows this row by
// row. The user can also choose to ignore the ids, so that every row adds an animal.
func TestEditedExportChangesAnimals(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	shoptest.Must(s.CreateCategory(t.Context(), shop.Caller{}, "Dogs"))(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	s.AddPet(t, "Mia", 1, "")
	file := b.mustGet("/staff/export/animals.csv").body
	file = strings.Replace(file, "Rex,1,available", "Max,1,SOLD", 1) + ",Tom,,Sold,,Cats\n"
	ignored := b.upload("/staff/import", file, "mode", "create").want(200, "3 To add", "Every row adds a new animal, although 2 of them have the number of an animal")
	sum, once := ignored.importFields()
	// The mode of this form differs from that of the preview, so it imports nothing and gets a new preview.
	previewed := b.upload("/staff/import", file, "sum", sum, "once", once).want(200, "1 To add 1 To change 1 Unchanged Add 1 and change 1",
		"2 1 Rex name Rex → Max status available → sold", "4 Tom Cats Sold", "New category: Cats", "3 Mia Dogs No status")
	s.wantPetCount(2)
	sum, once = previewed.importFields()
	for range 2 { // sending the form twice imports the file only once
		b.upload("/staff/import", file, "sum", sum, "once", once).want(200, "1 animal added, 1 animal changed, 1 unchanged")
	}
	s.wantPetCount(3)
	if pet, err := s.Pet(t.Context(), 1, nil); err != nil || pet != (shop.Pet{ID: 1, Name: "Max", CategoryID: 1, Status: shop.Sold}) {
		t.Errorf("the animal is %+v (%v), want it as in the file", pet, err)
	}
	b.upload("/staff/import", file).want(200, "1 Row with a problem 1 To add 0 To change 1 Unchanged",
		"2 Max This animal has been changed since the file was exported. Export it again. In the shop it is now “Max”, Dogs, Sold")
}

// If the shop changes between the preview and the import, nothing is imported and the page shows a new preview.
func TestImportAfterAChangeIsPreviewedAgain(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	rex := s.AddPet(t, "Rex", 1, shop.Available)
	file := strings.Replace(b.mustGet("/staff/export/animals.csv").body, "Rex", "Max", 1)
	sum, once := b.upload("/staff/import", file).want(200, "Change 1 animal").importFields()
	shoptest.Must(s.UpdatePet(t.Context(), shop.Caller{}, rex.ID, shop.PetChange{Status: new(shop.Sold)}, nil))(t)
	b.withHTMX().upload("/staff/import", file, "sum", sum, "once", once).want(200, "The shop has changed since the preview, so nothing was imported",
		"1 Row with a problem", "In the shop it is now “Rex”, Category 1, Sold")
	if pet, err := s.Pet(t.Context(), rex.ID, nil); err != nil || pet.Name != "Rex" {
		t.Errorf("the animal is %+v (%v), want its old name", pet, err)
	}
}

// Importing an export that a spreadsheet program has opened and saved changes nothing, whatever the program does to the
// separators, quotes and numbers.
func TestExportSurvivesSpreadsheets(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	shoptest.Must(s.CreateCategory(t.Context(), shop.Caller{}, "Dogs; big, \"and\" 'small'"))(t)
	for i, name := range []string{"Zoë", "=1+1", `"Rex", the; 3rd`, "-x;+y", " 007 ", "true"} {
		s.AddPet(t, name, int64(1+i%2), append(shop.Statuses(), "")[i%4])
	}
	export := b.mustGet("/staff/export/animals.csv").body
	records := shoptest.Must(csv.NewReader(strings.NewReader(strings.TrimPrefix(export, "\ufeff"))).ReadAll())(t)
	save := func(separator string, quoteAll bool, number string) string {
		var file strings.Builder
		for i, record := range records {
			for j, field := range record {
				if i > 0 && (j == 0 || j == 2) {
					field += number
				}
				if quoteAll || strings.ContainsAny(field, separator+"\"\r\n") {
					field = `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
				}
				record[j] = field
			}
			file.WriteString(strings.Join(record, separator) + "\r\n")
		}
		return file.String()
	}
	original := slices.Clone(records)
	for name, saved := range map[string]func() string{
		"as it is":               func() string { return export },
		"Excel":                  func() string { return "\ufeff" + save(",", false, "") },
		"Excel in German":        func() string { return "\ufeff" + save(";", false, "") },
		"tabs":                   func() string { return save("\t", false, "") },
		"LibreOffice":            func() string { return strings.ReplaceAll(save(",", true, ""), "\r\n", "\n") },
		"decimals":               func() string { return save(",", false, ".00") },
		"decimals in German":     func() string { return save(";", false, ",00") },
		"empty rows and columns": func() string { return strings.ReplaceAll(save(";", false, ""), "\r\n", ";;\r\n") + ";;;;;;;\r\n" },
	} {
		records = nil
		for _, record := range original {
			records = append(records, slices.Clone(record))
		}
		got := b.upload("/staff/import", saved())
		if !strings.Contains(got.text(), "This file changes nothing: all 6 animals") {
			t.Errorf("%s: got %s", name, got.text())
		}
	}
}

// The template that users fill in can itself be imported.
func TestTemplateCanBeImported(t *testing.T) {
	t.Parallel()
	_, b := signIn(t)
	template := b.mustGet("/staff/import/template.csv")
	if got := template.header.Get("Content-Disposition"); got != `attachment; filename="animals-template.csv"` {
		t.Errorf("got the Content-Disposition %s", got)
	}
	b.upload("/staff/import", template.body).want(200, "2 To add", "2 Rex Dogs Available breed Beagle", "3 Mia Cats No status sex female", "New categories: Dogs , Cats")
}

func TestExportContainsEveryPet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	if got := b.mustGet("/staff/export/animals.csv"); strings.TrimSpace(got.body) != "\ufeffid,name,categoryId,status,etag,category" {
		t.Errorf("an empty shop exports %q", got.body)
	}
	b.mustGet("/staff/export/animals.csv?include=profile").contains("status,etag,category,published,", ",photo").lacks("microchip", "profileEtag")
	rows := slices.Repeat([]shop.ImportRow{{NewPet: shop.NewPet{Name: "Rex", CategoryID: 1, Status: shop.Available}}}, 2500)
	shoptest.Must(s.ImportPets(t.Context(), shop.Caller{}, rows, shop.ImportOptions{}))(t)
	s.AddPet(t, "=1+1", 2, "")
	got := b.mustGet("/staff/export/animals.csv").contains("\n1,Rex,1,available", "\n2500,Rex,1,available")
	disposition := got.header.Get("Content-Disposition")
	if n := strings.Count(got.body, "\n"); n != 2502 || disposition != `attachment; filename="animals.csv"` {
		t.Errorf("got %d lines with the Content-Disposition %s, want 2502 in animals.csv", n, disposition)
	}
	b.mustGet("/staff/import").lacks(`type="file"`) // the import form needs pets:write
}
