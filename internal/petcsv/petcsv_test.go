package petcsv

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"animalstore/internal/shop"
)

// The output is standard CSV, contains no formulas and can be read back unchanged.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	texts := rapid.StringOf(rapid.OneOf(rapid.RuneFrom([]rune("=+-@'\"＝＠,; a")), rapid.Rune()))
	rapid.Check(t, func(t *rapid.T) {
		var pets []shop.NewPet
		file, records := AppendHeader(nil), [][]string{Columns()}
		for i, name := range rapid.SliceOfN(texts, 0, 20).Draw(t, "names") {
			pet := shop.Pet{ID: int64(i + 1), Name: name, CategoryID: rapid.Int64().Draw(t, "category")}
			pet.Status = rapid.SampledFrom(append(shop.Statuses(), "")).Draw(t, "status")
			n := shop.NewPet{Name: name, CategoryID: pet.CategoryID, Status: pet.Status}
			if len(n.Problems()) > 0 {
				continue
			}
			pets = append(pets, n)
			file = Append(file, pet)
			records = append(records, []string{strconv.Itoa(i + 1), escapeFormula(name), strconv.FormatInt(pet.CategoryID, 10), string(pet.Status)})
		}
		others, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		if err != nil || !slices.EqualFunc(others, records, slices.Equal[[]string]) {
			t.Fatalf("%s\nencoding/csv reads %q %v, want %q", file, others, err, records)
		}
		for _, record := range others {
			if strings.ContainsAny(record[1][:1], "=+-@") {
				t.Fatalf("%q is a formula", record[1])
			}
		}
		rows, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		var got []shop.NewPet
		for i, row := range rows {
			if row.Line != i+2 || len(row.Problems) > 0 {
				t.Fatalf("%+v", row)
			}
			got = append(got, row.NewPet)
		}
		if !slices.Equal(got, pets) {
			t.Fatalf("%s\ngot  %+v\nwant %+v", file, got, pets)
		}
	})
}

// Any input is either parsed or rejected, and every parsed row has a line number.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"", "name,categoryId\nRex,1\n", "\ufeffname;categoryId;status\r\n\"a\nb\";1;\r\n\r\n\"", "name\tcategoryid\n\"x\"y\t1", "\xff\xfe"} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		rows, err := Read(file)
		if err != nil && shop.AsError(err).Code != shop.ValidationFailed {
			t.Fatal(err)
		}
		last := 1
		for _, row := range rows {
			if row.Line <= last {
				t.Fatalf("line %d follows line %d in %q", row.Line, last, file)
			}
			last = row.Line
		}
	})
}
