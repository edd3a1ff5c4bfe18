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
		for _, separator := range []string{",", ";", "\t"} {
			for cell := range strings.SplitSeq(line, separator) {
				if text := strings.TrimLeft(cell, `" `); text != "" && strings.ContainsRune("=+-@＝＠", []rune(text)[0]) {
					t.Fatalf("split at %q, the line %q has the formula %q", separator, line, text)
				}
			}
		}
	})
}
