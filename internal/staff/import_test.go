package staff

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// upload sends a file in the same way as the import form.
func (b *browser) upload(path, content string, fields ...string) response {
	b.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i+1 < len(fields); i += 2 {
		form.WriteField(fields[i], fields[i+1])
	}
	file, err := form.CreateFormFile("file", "animals.csv")
	if err != nil {
		b.t.Fatal(err)
	}
	file.Write([]byte(content))
	form.Close()
	r, err := http.NewRequestWithContext(b.t.Context(), "POST", b.url+path, &body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	return b.do(r)
}

// importFields returns the values of the hidden form fields in a preview.
func (r response) importFields(t *testing.T) (sum, once string) {
	t.Helper()
	found := regexp.MustCompile(`name="sum" value="(\w+)".*name="once" value="(\w+)"`).FindStringSubmatch(r.body)
	if found == nil {
		t.Fatalf("the page has no import button: %s", r.text())
	}
	return found[1], found[2]
}

func (s *testShop) wantPetCount(n int64) {
	s.t.Helper()
	if got, err := s.Inventory(s.t.Context()); err != nil || got.Available+got.Pending+got.Sold+got.Unspecified != n {
		s.t.Errorf("the inventory is %+v (error %v), want %d animals", got, err, n)
	}
}

func TestImportAddsAllPetsOnceOrNone(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	b.mustGet("/staff/import", "up to 10 000 animals")
	b.upload("/staff/import", "name,categoryId,status\nRex,1,available\n,2,\nMax,x,gone\n").want(200,
		"Invalid rows: 2 of 3. Nothing was imported", "3 name is required", "4 Max", "status must be one of")
	s.wantPetCount(0)
	file := "name;categoryId\n<b>Rex</b>;1\nMax;2\n"
	previewed := b.upload("/staff/import", file).
		want(200, "2 animals ready to import", "2 <b>Rex</b> 1 No status", "Import 2 animals")
	s.wantPetCount(0)
	sum, once := previewed.importFields(t)
	// A different file gets its own preview first.
	b.upload("/staff/import", file+"Other;3\n", "sum", sum, "once", once).want(200, "3 animals ready to import")
	s.wantPetCount(0)
	for range 2 { // sending the form twice imports the animals only once
		b.withHTMX().upload("/staff/import", file, "sum", sum, "once", once).want(200, "2 animals added")
		s.wantPetCount(2)
	}
	sum, once = b.upload("/staff/import", file).importFields(t)
	// A new preview allows a second import.
	b.upload("/staff/import", file, "sum", sum, "once", once).want(200, "2 animals added")
	s.wantPetCount(4)

	b.upload("/staff/import", "").want(422, "The file is empty")
	b.upload("/staff/import", "name,categoryId\n").want(200, "This file contains no animals")
	b.upload("/staff/import", "\xff\xfea").want(422, "UTF-16")
	b.upload("/staff/import", "name,categoryId\n"+strings.Repeat("Rex,1\n", shop.MaxImport+1)).want(413, "at most 10000")
	b.upload("/staff/import", strings.Repeat("x", maxImportBytes+maxFormBytes)).want(413, "8 MiB")
	b.post("/staff/import", "sum", "x").want(422, "could not be read")
	b.withHTMX().upload("/staff/import", "name,categoryId\n"+strings.Repeat(",1\n", 500)).
		want(200, "Invalid rows: 500 of 500", "Only the first 100 are shown").lacks("<html")
}

func TestExportContainsEveryPet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	if got := b.mustGet("/staff/export/animals.csv"); strings.TrimSpace(got.body) != "id,name,categoryId,status" {
		t.Errorf("an empty shop exports %q", got.body)
	}
	var rows []shop.ImportRow
	for i := range 2500 {
		rows = append(rows, shop.ImportRow{NewPet: shop.NewPet{Name: fmt.Sprint("Rex ", i), CategoryID: 1, Status: shop.Available}})
	}
	if _, err := s.ImportPets(t.Context(), rows, false); err != nil {
		t.Fatal(err)
	}
	s.AddPet(t, "=1+1", 2, "")
	got := b.mustGet("/staff/export/animals.csv").contains("2500,Rex 2499,1,available")
	disposition := got.header.Get("Content-Disposition")
	if n := strings.Count(got.body, "\n"); n != 2502 || disposition != `attachment; filename="animals.csv"` {
		t.Errorf("got %d lines with the Content-Disposition %s, want 2502 in animals.csv", n, disposition)
	}
	b.mustGet("/staff/import").lacks(`type="file"`) // the import form needs pets:write
}
