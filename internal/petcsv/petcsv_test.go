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
		var pets []shop.ExportRow
		file, records := AppendHeader(nil), [][]string{Columns()}
		for i, name := range rapid.SliceOfN(texts, 0, 20).Draw(t, "names") {
			pet := shop.ExportRow{Pet: shop.Pet{ID: int64(i + 1), Name: name, CategoryID: rapid.Int64().Draw(t, "category")}}
			pet.Status = rapid.SampledFrom(append(shop.Statuses(), "")).Draw(t, "status")
			if pet.Category = texts.Draw(t, "category name"); shop.TextProblem(pet.Category) != "" {
				pet.Category = ""
			}
			if len(pet.Fields().Problems()) > 0 {
				continue
			}
			pets = append(pets, pet)
			file = Append(file, pet)
			records = append(records, []string{strconv.Itoa(i + 1), escapeFormula(name), strconv.FormatInt(pet.CategoryID, 10), string(pet.Status),
				pet.ETag(), escapeFormula(pet.Category)})
		}
		others, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		if err != nil || !slices.EqualFunc(others, records, slices.Equal[[]string]) {
			t.Fatalf("%s\nencoding/csv reads %q %v, want %q", file, others, err, records)
		}
		for _, record := range others {
			for _, text := range []string{record[1], record[5]} {
				if text != "" && strings.ContainsAny(text[:1], "=+-@") {
					t.Fatalf("%q is a formula", text)
				}
			}
		}
		rows, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		var got []shop.ExportRow
		for i, row := range rows {
			if row.Line != i+2 || len(row.Problems) > 0 {
				t.Fatalf("%+v", row)
			}
			got = append(got, shop.ExportRow{Pet: row.WithID(*row.ID), Category: row.Category})
			if row.ETag != got[i].ETag() {
				t.Fatalf("the ETag of %+v is %s", got[i], row.ETag)
			}
		}
		for i := range pets {
			pets[i].Category = strings.Trim(pets[i].Category, " ") // an import ignores these spaces
		}
		if !slices.Equal(got, pets) {
			t.Fatalf("%s\ngot  %+v\nwant %+v", file, got, pets)
		}
	})
}

// Any input is either parsed or rejected, and every parsed row has a line number.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"", "name,categoryId\nRex,1\n", "\ufeffname;categoryId;status\r\n\"a\nb\";1;\r\n\r\n\"", "name\tcategoryid\n\"x\"y\t1", "\xff\xfe",
		"id,profileEtag,price,currency,tags\n7,x,\"1,5\",eur,\"a, b\"\n8,x,-,-,-\n", "sep=;\nTier;Preis;geb.;;\nB\xe4r;1.250,- \x80;3/4/24;x\n",
		"\xff\xfen\x00a\x00m\x00e\x00\t\x00D\x00O\x00B\x00\n\x00\"\x00a\x00\n\x00"} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		rows, err := ReadProfiles(file)
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
		fuzzSheet(t, file)
	})
}

// fuzzSheet checks that a sheet has as many rows as it says, in their order, and that those left out are a sheet again.
func fuzzSheet(t *testing.T, file []byte) {
	s, err := OpenSheet(file, nil)
	if err != nil {
		if shop.AsError(err).Code != shop.ValidationFailed {
			t.Fatal(err)
		}
		return
	}
	rows, err := s.Read(SheetReading{Most: s.Rows + 1, Dates: MonthFirst, Currency: "EUR"})
	if err != nil || len(rows) != s.Rows {
		t.Fatalf("got %d rows and %v in a sheet of %d: %q", len(rows), err, s.Rows, file)
	}
	last, reasons := 0, map[int]string{}
	for i, row := range rows {
		if row.Line <= last {
			t.Fatalf("row %d follows row %d in %q", row.Line, last, file)
		}
		last, reasons[i] = row.Line, "x"
	}
	left := leftOut(t.Fatal, s, reasons)
	if again, err := OpenSheet(left, nil); len(s.Columns) < maxSheetColumns && (err != nil || again.Rows != s.Rows) {
		t.Fatalf("got %+v %v of %q, want %d rows", again, err, left, s.Rows)
	}
}
