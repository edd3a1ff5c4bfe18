package petcsv

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"animalstore/internal/shop"
)

// No part of a name becomes a formula, whichever separator a spreadsheet program uses to split a line.
func TestNameIsNeverAFormula(t *testing.T) {
	t.Parallel()
	names := rapid.StringOf(rapid.RuneFrom([]rune(`=+-@'"＝＠,;| ab`)))
	rapid.Check(t, func(t *rapid.T) {
		line := string(Append(nil, shop.ExportRow{
			Pet:      shop.Pet{ID: 1, Name: names.Draw(t, "name"), CategoryID: 1, Status: shop.Available},
			Category: names.Draw(t, "category"),
		}))
		wantNoFormula(t, line)
	})
}

// The same holds for the texts of a profile, also for each line of a description.
func TestProfileIsNeverAFormula(t *testing.T) {
	t.Parallel()
	texts := rapid.StringOf(rapid.RuneFrom([]rune("=+-@'\"＝＠,;| ab\n")))
	rapid.Check(t, func(t *rapid.T) {
		profile := shop.Profile{Description: texts.Draw(t, "description"), Breeds: []string{texts.Draw(t, "breed")}, Color: texts.Draw(t, "color"),
			Tags: []string{"a", texts.Draw(t, "tag")}, ContactURL: "https://x/" + texts.Draw(t, "URL"), Notes: texts.Draw(t, "notes"), Location: texts.Draw(t, "location")}
		line := string(ProfileWriter{Internal: true}.Append(nil, shop.ExportRow{Pet: shop.Pet{ID: 1, Name: "Rex", CategoryID: 1}, Profile: &profile}))
		for row := range strings.SplitSeq(line, "\n") {
			wantNoFormula(t, row)
		}
	})
}

func wantNoFormula(t *rapid.T, line string) {
	for _, separator := range []string{",", ";", "\t"} {
		for cell := range strings.SplitSeq(line, separator) {
			if text := strings.TrimLeft(cell, `" `); text != "" && strings.ContainsRune("=+-@＝＠", []rune(text)[0]) {
				t.Fatalf("split at %q, the line %q has the formula %q", separator, line, text)
			}
		}
	}
}
