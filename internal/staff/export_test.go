package staff

import (
	"fmt"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

func TestExportContainsEveryPet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	if got := b.mustGet("/staff/export/animals.csv"); got.body != "id,name,categoryId,status\r\n" && got.body != "id,name,categoryId,status\n" {
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
	got := b.mustGet("/staff/export/animals.csv")
	if n := strings.Count(got.body, "\n"); n != 2502 || !strings.Contains(got.body, "2500,Rex 2499,1,available") || got.header.Get("Content-Disposition") != `attachment; filename="animals.csv"` {
		t.Errorf("the export has %d lines and the header %v", n, got.header)
	}
	if body := b.mustGet("/staff/import").body; strings.Contains(body, `type="file"`) {
		t.Error("the import form is shown without pets:write")
	}
}
