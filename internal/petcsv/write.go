package petcsv

import (
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// AppendHeader appends the line that names the columns.
func AppendHeader(to []byte) []byte {
	return append(append(to, strings.Join(Columns(), ",")...), "\r\n"...)
}

// Append appends the line of an animal.
func Append(to []byte, pet shop.Pet) []byte {
	to = strconv.AppendInt(to, pet.ID, 10)
	to = append(to, ',')
	to = appendQuoted(to, escapeFormula(pet.Name))
	to = append(to, ',')
	to = strconv.AppendInt(to, pet.CategoryID, 10)
	to = append(to, ',')
	to = append(to, pet.Status...)
	return append(to, "\r\n"...)
}

// appendQuoted appends a text, in quotes if it contains any separator that a reader may use.
func appendQuoted(to []byte, text string) []byte {
	if !strings.ContainsAny(text, "\",;\t\r\n") && strings.TrimSpace(text) == text {
		return append(to, text...)
	}
	to = append(to, '"')
	to = append(to, strings.ReplaceAll(text, `"`, `""`)...)
	return append(to, '"')
}

// escapeFormula prefixes an apostrophe to a text that a spreadsheet would run as a formula: the name of an
// animal must not execute anything on the machine of a reader. A text that already has apostrophes before the
// sign gets one more, so that unescapeFormula restores every text.
func escapeFormula(text string) string {
	if isFormula(text) {
		return "'" + text
	}
	return text
}

// unescapeFormula reverses escapeFormula.
func unescapeFormula(text string) string {
	if rest, ok := strings.CutPrefix(text, "'"); ok && isFormula(rest) {
		return rest
	}
	return text
}

// isFormula reports whether a text, after leading apostrophes, starts like a formula, including the
// full-width signs of East Asian keyboards.
func isFormula(text string) bool {
	text = strings.TrimLeft(text, "'")
	for _, sign := range []string{"=", "+", "-", "@", "＝", "＋", "－", "＠"} {
		if strings.HasPrefix(text, sign) {
			return true
		}
	}
	return false
}
