package petcsv

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"animalstore/internal/shop"
)

// describe lists the rows of a sheet, one on a line: its number, its animal, what it says of the profile, and its problems.
func describe(t *testing.T, s *Sheet, reading SheetReading) string {
	t.Helper()
	reading.Most = shop.MaxImport
	rows, err := s.Read(reading)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&text, "%d %s|%s|%s", row.Line, row.Name, row.Category, row.Status)
		if row.Profile != nil {
			_, members, _ := strings.Cut(string(row.Profile.Apply(shop.Profile{}).AppendJSON(nil)), `"published":`)
			text.WriteString(" " + strings.TrimSuffix(members, "}"))
		}
		if len(row.Problems) > 0 {
			text.WriteString(" ! " + row.Problems.String())
		}
		text.WriteString("\n")
	}
	return text.String()
}

// matched lists the titles of a sheet with the fields that they are matched to.
func matched(s *Sheet) string {
	var pairs []string
	for _, column := range s.Columns {
		pairs = append(pairs, column.Title+"="+column.Field)
	}
	return strings.Join(pairs, " ")
}

// Files of real programs are recognized with their encoding, separator, columns, dates, amounts and words.
func TestSheetsOfProgramsAreRead(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]struct {
		encoding  Encoding
		separator rune
		columns   string
		reading   SheetReading
		rows      string
	}{
		"excel-german.csv": {Windows1252, ';', "Name=name Tierart=category Rasse=breed Geschlecht=sex geboren am=birthDate Farbe=color Preis=price Kastriert=neutered Chip-Nr.=microchip " +
			"Größe=size Status=status Verträglich mit Hunden=goodWithDogs Impfpass=", SheetReading{}, `
2 Jürgen|Hund|available false,"breeds":["Münsterländer"],"sex":"male","birthDate":"2021-12-31","size":"large","color":"weiß","price":{"amount":"1250.00","currency":"EUR"},"traits":{"neutered":true,"goodWithDogs":true},"microchip":"276098106123456"
3 Käthe|Katze|pending false,"breeds":["Europäisch Kurzhaar"],"sex":"female","birthDate":"2022-03-01","size":"small","color":"schwarz","price":{"amount":"250.00","currency":"EUR"},"traits":{"neutered":false}
4 Max; der Große|Hund|sold false,"breeds":["Mischling"],"sex":"male","birthDate":"2019-06-05","size":"medium","color":"braun","price":{"amount":"99","currency":"EUR"},"traits":{"neutered":true,"goodWithDogs":false} ! microchip was rounded by the spreadsheet program to "9,85E+14"; format the column as text and enter the number again
5 |Hund| false,"breeds":["Dackel"],"sex":"female" ! name is required, birthDate must be a date such as 2024-12-31, not "31.02.2020"
`},
		"excel-unicode.txt": {UTF16, '\t', "Animal name=name Species=category Breed=breed Gender=sex DOB=birthDate Price=price Microchip no.=microchip Notes=notes", SheetReading{}, `
2 Zoë|Cat| false,"breeds":["Maine Coon"],"sex":"female","birthDate":"2023-12-31","price":{"amount":"1250.00","currency":"USD"},"microchip":"985112006543210","notes":"Shy.\nNeeds a quiet home."
3 Łukasz|Dog| false,"breeds":["Beagle"],"sex":"male","birthDate":"2024-01-05","price":{"amount":"250","currency":"USD"},"notes":"doesn't bite"
4 Ōkami|Dog| false,"breeds":["Shiba Inu"],"sex":"male","birthDate":"2022-11-30"
`},
		"google-sheets.csv": {UTF8, ',', "Pet=name Type=category Race=breed Colour=color Sex=sex Born=birthDate Fee=price Good with kids=goodWithChildren House trained=houseTrained On website=published Vet=",
			SheetReading{Currency: "GBP", Status: "available"}, `
2 Bella|Dog|available true,"breeds":["Labrador"],"sex":"female","birthDate":"2021-03-04","color":"black","price":{"amount":"250","currency":"GBP"},"traits":{"houseTrained":true,"goodWithChildren":true}
3 Mia|Cat|available false,"sex":"female","birthDate":"2022-11-30","color":"white, ginger","price":{"amount":"80.5","currency":"GBP"},"traits":{"goodWithChildren":false}
4 Rocky|Dog|available true,"breeds":["Boxer"],"sex":"male","color":"brindle","traits":{"houseTrained":false,"goodWithChildren":true}
`},
		"shelter.csv": {UTF8, ',', "ANIMALCODE= ANIMALNAME=name ANIMALTYPE= ANIMALSPECIES=category ANIMALBREED1=breed ANIMALBREED2=secondBreed ANIMALSEX=sex ANIMALDOB=birthDate ANIMALNEUTERED=neutered " +
			"ANIMALMICROCHIP=microchip ANIMALENTRYDATE=arrivalDate ANIMALSIZE=size ANIMALGOODWITHCATS=goodWithCats ANIMALHOUSETRAINED=houseTrained ANIMALLOCATION=location " +
			"ANIMALCOMMENTS=notes ANIMALWEIGHT= ANIMALLITTER=ignore", SheetReading{Dates: DayFirst}, `
2 Biscuit|Dog| false,"breeds":["Staffordshire Bull Terrier","Whippet"],"sex":"male","birthDate":"2021-04-03","size":"medium","arrivalDate":"2024-11-05","traits":{"neutered":true,"houseTrained":true,"goodWithCats":false},"microchip":"977200009123456","location":"Kennel 4","notes":"Found on the towpath."
3 Smokey|Cat| false,"breeds":["Domestic Short Hair"],"sex":"female","birthDate":"2022-05-23","size":"small","arrivalDate":"2024-12-01","traits":{"neutered":true},"location":"Cattery"
4 Thumper|Rabbit| false,"breeds":["Lop Eared"],"birthDate":"2024-02-01","size":"small","arrivalDate":"2024-12-02","traits":{"neutered":false,"houseTrained":false},"location":"Small animals"
`},
	} {
		content, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := OpenSheet(content, nil)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if s.Encoding != want.encoding || s.Separator != want.separator || matched(s) != want.columns {
			t.Errorf("%s: got %s, %q and\n%s\nwant %s, %q and\n%s", file, s.Encoding, s.Separator, matched(s), want.encoding, want.separator, want.columns)
		}
		if got := describe(t, s, want.reading); got != want.rows[1:] {
			t.Errorf("%s: got\n%s\nwant%s", file, got, want.rows)
		}
		if dates := s.UnclearDate(); (dates != "") != (want.reading.Dates != "") {
			t.Errorf("%s: got the unclear date %q", file, dates)
		}
		if lacks := s.LacksCurrency(); lacks != (want.reading.Currency != "") {
			t.Errorf("%s: lacks a currency: %v", file, lacks)
		}
	}
}

func TestEncodingsAreRecognized(t *testing.T) {
	t.Parallel()
	const text = "name,category\nZoë,Dogs\n"
	utf16 := func(text string, big bool) string {
		var file strings.Builder
		for _, r := range text {
			low, high := byte(r), byte(r>>8)
			if big {
				low, high = high, low
			}
			file.Write([]byte{low, high})
		}
		return file.String()
	}
	for file, want := range map[string]Encoding{
		text: UTF8, "\ufeff" + text: UTF8, "name,category\nZo\xeb,Dogs\n": Windows1252, utf16("\ufeff"+text, false): UTF16, utf16("\ufeff"+text, true): UTF16,
		utf16(text, false): UTF16, utf16(text, true): UTF16, "sep=;\r\nname;category\nZoë;Dogs": UTF8, "name\tcategory\rZoë\tDogs\r": UTF8,
	} {
		s, err := OpenSheet([]byte(file), nil)
		if err != nil || s.Encoding != want || s.Rows != 1 {
			t.Errorf("%q: got %+v %v, want %s", file, s, err, want)
		} else if rows := describe(t, s, SheetReading{}); rows != "2 Zoë|Dogs|\n" {
			t.Errorf("%q: got %s", file, rows)
		}
	}
	for file, want := range map[string]string{
		"PK\x03\x04": "workbook", "\xd0\xcf\x11\xe0": "workbook", "name\x00": "not a text file", utf16("\ufeffname", false) + "x": "damaged", "\xff\xfe\x00\xd8a\x00": "damaged",
		"": "empty", "\ufeff\n\n": "empty", `"name` + "\nRex": "does not end correctly", strings.Repeat("a,", 300): "301 columns",
		"name\n" + strings.Repeat("x", 2*shop.MaxImportRow): "196608 bytes", strings.Repeat("x", 2*shop.MaxImportRow): "too long",
	} {
		if _, err := OpenSheet([]byte(file), nil); err == nil || shop.AsError(err).Code != shop.ValidationFailed || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %s", file, err, want)
		}
	}
}

// The first of several columns for a field is matched, and only the user decides about titles that are not known.
func TestColumnsAreMatchedByTitle(t *testing.T) {
	t.Parallel()
	for titles, want := range map[string]string{
		"Name,Type,Species,Colour,Gender,DOB,Price,Chip,Microchip no.,Foo": "Name=name Type= Species=category Colour=color Gender=sex DOB=birthDate Price=price Chip=microchip Microchip no.= Foo=",
		"ID,Name,Kind":                      "ID= Name=name Kind=category", // the ids of another program
		"id,name,categoryId,status,etag":    "id=id name=name categoryId=categoryId status=status etag=etag",
		"Second Breed,photo,Please correct": "Second Breed=secondBreed photo=ignore Please correct=ignore",
		"pet_name,Good with cats?,GRÖSSE":   "pet_name=name Good with cats?=goodWithCats GRÖSSE=size",
		"Gro\u0308ße,Spayed / neutered,,":   "Gro\u0308ße=size Spayed / neutered=neutered = =",
	} {
		row := strings.Repeat(",x", strings.Count(titles, ","))
		s, err := OpenSheet([]byte(titles+"\nx"+row+"\n"), nil)
		if err != nil || matched(s) != want {
			t.Errorf("%s: got %s %v, want %s", titles, matched(s), err, want)
		}
	}
	s, err := OpenSheet([]byte("A,B,A\nRex,Dog,x\n"), nil)
	if err != nil || s.HasAnimals() {
		t.Fatal(s, err)
	}
	choices := map[string]string{s.Columns[0].Key: "name", s.Columns[1].Key: "category", s.Columns[2].Key: "name", "other": "breed"}
	if s, err = OpenSheet([]byte("A,B,A\nRex,Dog,x\n"), choices); err != nil || matched(s) != "A=name B=category A=name" || s.Twice() != "name" {
		t.Errorf("got %s %v, and %q twice", matched(s), err, s.Twice())
	}
	choices[s.Columns[2].Key], choices[s.Columns[1].Key] = "nonsense", Ignore
	if s, err = OpenSheet([]byte("A,B,A\nRex,Dog,x\n"), choices); err != nil || matched(s) != "A=name B=ignore A=" || s.Twice() != "" || !s.HasAnimals() {
		t.Errorf("got %s %v, and %q twice", matched(s), err, s.Twice())
	}
}

func TestDatesAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for cell, want := range map[string][2]string{ // with the day and with the month first
		"31.12.2024": {"2024-12-31", "2024-12-31"}, "1.3.24": {"2024-03-01", "2024-03-01"}, "12/31/2024": {"", "2024-12-31"}, "31/12/2024": {"2024-12-31", ""},
		"03/04/2024": {"2024-04-03", "2024-03-04"}, "5-6-99": {"1999-06-05", "1999-05-06"}, "2024-12-31": {"2024-12-31", "2024-12-31"}, "2024/1/2": {"2024-01-02", "2024-01-02"},
		"2024-12-31 00:00:00": {"2024-12-31", "2024-12-31"}, "2024-12-31T10:11:12.5Z": {"2024-12-31", "2024-12-31"}, "1/2/2024 3:04 PM": {"2024-02-01", "2024-01-02"},
		"31 Dec 2024": {"2024-12-31", "2024-12-31"}, "31-dec-24": {"2024-12-31", "2024-12-31"}, "December 31, 2024": {"2024-12-31", "2024-12-31"}, "31. Dezember 2024": {"2024-12-31", "2024-12-31"},
		"1. März 2024": {"2024-03-01", "2024-03-01"}, "12.31.2024": {}, "29.02.2023": {}, "2024": {}, "3/2024": {}, "about 2024": {}, "1.2.3.2024": {}, "01/02/027": {}, "2024-00-10": {}, "1 Foo 2024": {},
		"99999999999999999999/1/2024": {}, "1=2=2024": {}, "0/0/0000": {},
	} {
		if got := [2]string{readDate(cell, DayFirst, now), readDate(cell, MonthFirst, now)}; got != want {
			t.Errorf("%s: got %q, want %q", cell, got, want)
		}
	}
	for cells, want := range map[string]DateOrder{
		"03/04/2024": "", "03/04/2024 13/04/2024": DayFirst, "03/04/2024 04/13/2024": MonthFirst, "03/04/2024 13/04/2024 04/13/2024": "", "03/03/2024": DayFirst, "03.04.2024 x": DayFirst,
	} {
		var e dateEvidence
		for cell := range strings.FieldsSeq(cells) {
			e.add(cell)
		}
		if got := e.order(); got != want {
			t.Errorf("%s: got the order %q, want %q", cells, got, want)
		}
	}
}

func TestAmountsAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cells, own, want string }{ // the last of the cells is read
		{"250", "EUR", "250 EUR"}, {"250", "", "250 "}, {"$250", "EUR", "250 USD"}, {"$250", "CAD", "250 CAD"}, {"1.250,00 €", "", "1250.00 EUR"}, {"1,250.50", "GBP", "1250.50 GBP"},
		{"1.250", "EUR", "1250 EUR"}, {"12.50;1.250", "EUR", "!"}, {"12,50;1.250", "EUR", "1250 EUR"}, {"1.250", "KWD", "1.250 KWD"}, {"1,250", "KWD", "!"}, {"1.250", "JPY", "1250 JPY"},
		{"1.234.567", "EUR", "1234567 EUR"}, {"1 250,5", "EUR", "1250.5 EUR"}, {"1\u00a0250,-", "EUR", "1250 EUR"}, {"CHF 1'250.–", "", "1250 CHF"}, {"EUR 99", "USD", "99 EUR"}, {"99 Euro", "", "99 EUR"},
		{"500 kr", "SEK", "500 SEK"}, {"500 kr", "", "?"}, {"Fr. 80", "", "80 CHF"}, {"0.500", "EUR", "0.500 EUR"}, {"0,5", "EUR", "0.5 EUR"}, {"250,", "EUR", "250 EUR"}, {"-5", "EUR", "?"}, {"ab 50 €", "", "!"},
		{"free", "EUR", "!"}, {"50-80", "EUR", "!"}, {"1.25.000", "EUR", "!"}, {"1,2,3", "EUR", "!"}, {"1..2", "EUR", "!"}, {"50 XYZ", "", "?"},
	} {
		var e amountEvidence
		cells := strings.Split(c.cells, ";")
		for _, cell := range cells {
			e.add(cell)
		}
		amount, currency, reason := e.price(cells[len(cells)-1], "", c.own)
		got := amount + " " + currency
		if strings.Contains(reason, "amount") {
			got = "!"
		} else if reason != "" {
			got = "?"
		}
		if got != c.want {
			t.Errorf("%s in a shop with %q: got %q (%s), want %q", c.cells, c.own, got, reason, c.want)
		}
	}
}

// A cell that cannot be read is reported for its field, and a row that updates an animal gets nothing that its file lacks.
func TestSheetCellsAreRefused(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"name,kind,sex\nRex,Dog,maybe\n":                             "2 Rex|Dog|available ! sex must be female or male, not \"maybe\"\n",
		"name,kind,state\nRex,Dog,gone\n":                            "2 Rex|Dog| ! status must be one of available, pending, sold, not \"gone\"\n",
		"name,kind,born\nRex,Dog,3/4/2024\n":                         "2 Rex|Dog|available ! birthDate could mean two dates: \"3/4/2024\"\n",
		"name,kind,fee,currency\nRex,Dog,$5,EUR\nMax,Cat,$5,USD\n":   "2 Rex|Dog|available ! price is in USD, but the column of the currency says \"EUR\"\n3 Max|Cat|available false,\"price\":{\"amount\":\"5\",\"currency\":\"USD\"}\n",
		"name,kind\nRex,Dog,x\nMa\"x,Cat\n\nTom\n":                   "2 Rex|Dog|available ! has a value in column 3, which has no title; remove the value, or put texts that contain a separator in quotes\n3 || ! has a quote inside an unquoted value; put the value in quotes and double each quote inside it\n5 Tom|Pets|available\n",
		"name,notes\n\"Re\nx\",\"a\nb\"\nMax,?\n":                    "2 Re x|Pets|available false,\"notes\":\"a\\nb\"\n3 Max|Pets|available false,\"notes\":\"?\"\n",
		"id,name,etag,fee\n7,Rex,x,5\n,Max,,5\n":                     "2 Rex|| false,\"price\":{\"amount\":\"5\"} ! categoryId or category is required\n3 Max|Pets|available false,\"price\":{\"amount\":\"5\",\"currency\":\"CHF\"}\n",
		"id,profileEtag,sex,born,tags,contact\n7,x,-,n/a,a; b,a@b.c": "2 || false,\"tags\":[\"a\",\"b\"],\"contactUrl\":\"mailto:a@b.c\"\n",
	} {
		s, err := OpenSheet([]byte(file), nil)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got := describe(t, s, SheetReading{Category: "Pets", Status: "available", Currency: "CHF"})
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
		}
	}
}

// What an export contains is read from a sheet as from a file of the API.
func TestExportsAreSheets(t *testing.T) {
	t.Parallel()
	texts := rapid.StringOf(rapid.OneOf(rapid.RuneFrom([]rune("=+-@'\"＝＠,; a")), rapid.RuneFrom([]rune("äß日"))))
	rapid.Check(t, func(t *rapid.T) {
		p := shop.Profile{Description: texts.Draw(t, "description"), Breeds: []string{"Beagle"}, Sex: shop.Female, BirthDate: "2020-02-29", Mixed: shop.No,
			Price: rapid.SampledFrom([]shop.Price{{}, {Amount: "250.00", Currency: "EUR"}, {Amount: "0", Currency: "JPY"}, {Amount: "1.005", Currency: "KWD"}}).Draw(t, "price")}
		pet := shop.Pet{ID: 7, Name: "x" + texts.Draw(t, "name"), CategoryID: 3, Status: rapid.SampledFrom(append(shop.Statuses(), "")).Draw(t, "status")}
		w := ProfileWriter{Internal: true}
		file := w.Append(w.AppendHeader(nil), shop.ExportRow{Pet: pet, Profile: &p, ProfileETag: p.MembersETag(), Category: texts.Draw(t, "category")})
		want, err := ReadProfiles(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := OpenSheet(file, nil)
		if err != nil || s.UnclearDate() != "" || s.LacksCurrency() {
			t.Fatal(err)
		}
		got, err := s.Read(SheetReading{Most: 10, Currency: "USD", Category: "Other", Status: "sold"})
		if err != nil || len(got) != 1 || got[0].Name != want[0].Name || got[0].Status != want[0].Status || got[0].Category != want[0].Category || got[0].ETag != want[0].ETag ||
			*got[0].ID != 7 || got[0].CategoryID != 3 || len(got[0].Problems) > 0 {
			t.Fatalf("%s\ngot  %+v %v\nwant %+v", file, got, err, want)
		}
		if g, w := got[0].Profile.Apply(shop.Profile{}).AppendJSON(nil), want[0].Profile.Apply(shop.Profile{}).AppendJSON(nil); !bytes.Equal(g, w) {
			t.Fatalf("%s\ngot  %s\nwant %s", file, g, w)
		}
	})
}

// leftOut returns the file of the rows that were left out.
func leftOut(fatal func(...any), s *Sheet, reasons map[int]string) (file []byte) {
	err := s.LeftOut(reasons, func(chunk []byte) error {
		file = append(file, chunk...)
		return nil
	})
	if err != nil {
		fatal(err)
	}
	return file
}

// A file of the rows that were left out has the user's own columns, contains no formulas, and is read like the original.
func TestLeftOutRowsAreReadLikeTheOriginal(t *testing.T) {
	t.Parallel()
	cells := rapid.StringOf(rapid.RuneFrom([]rune("=+-@'\"＝＠,; a\n")))
	rapid.Check(t, func(t *rapid.T) {
		separator := rapid.SampledFrom([]rune{',', ';', '\t'}).Draw(t, "separator")
		var original bytes.Buffer
		w := csv.NewWriter(&original)
		w.Comma = separator
		w.Write([]string{"name", "kind", "notes", "My own"})
		w.Write([]string{"left in", "", "", ""})
		w.Write([]string{"x" + cells.Draw(t, "name"), cells.Draw(t, "category"), rapid.OneOf(cells, rapid.Just("-")).Draw(t, "notes"), cells.Draw(t, "own")})
		w.Flush()
		s, err := OpenSheet(original.Bytes(), nil)
		if err != nil {
			t.Fatal(err)
		}
		file := leftOut(t.Fatal, s, map[int]string{1: "Because."})
		_, line, _ := bytes.Cut(file, []byte("\n"))
		for row := range strings.SplitSeq(string(line), "\n") {
			if strings.TrimSpace(strings.ReplaceAll(row, "-", "")) != "" {
				wantNoFormula(t, strings.ReplaceAll(row, string(separator)+"-", string(separator)))
			}
		}
		again, err := OpenSheet(file, nil)
		if err != nil || again.Rows != 1 || again.Columns[0].Title != ReasonsTitle || again.Columns[0].Samples[0] != "Because." || again.Separator != separator {
			t.Fatalf("%q: got %+v %v", file, again, err)
		}
		if twice := leftOut(t.Fatal, again, map[int]string{0: "Because."}); !bytes.Equal(twice, file) { // the column of reasons occurs once
			t.Fatalf("%q: got %q", file, twice)
		}
		want, _ := s.Read(SheetReading{From: 1, Most: 1})
		got, _ := again.Read(SheetReading{Most: 1})
		if got[0].Name != want[0].Name || got[0].Category != want[0].Category || got[0].Problems.String() != want[0].Problems.String() ||
			fmt.Sprintf("%+v", got[0].Profile) != fmt.Sprintf("%+v", want[0].Profile) && *got[0].Profile.Notes != *want[0].Profile.Notes {
			t.Fatalf("%q\n%q\ngot  %+v\nwant %+v", original.Bytes(), file, got, want)
		}
	})
}
