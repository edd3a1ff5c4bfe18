package petcsv

import (
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// AppendHeader appends the header line, which names the columns.
func AppendHeader(to []byte) []byte {
	return append(append(to, strings.Join(Columns(), ",")...), "\r\n"...)
}

// Append appends the line for one animal.
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

// appendQuoted appends a text. It adds quotes if the text contains any character that a CSV reader may treat
// as a separator.
func appendQuoted(to []byte, text string) []byte {
	if !strings.ContainsAny(text, "\",;\t\r\n") && strings.TrimSpace(text) == text {
		return append(to, text...)
	}
	to = append(to, '"')
	to = append(to, strings.ReplaceAll(text, `"`, `""`)...)
	return append(to, '"')
}

// escapeFormula adds an apostrophe before a text that a spreadsheet program would run as a formula. The name
// of an animal must not execute anything on the computer of someone who opens the file. A text that already
// begins with apostrophes and a formula sign gets another apostrophe, so that unescapeFormula can restore
// every text.
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

// isFormula reports whether a text, without its leading apostrophes, begins like a formula. The signs include
// the full-width forms that East Asian keyboards produce.
func isFormula(text string) bool {
	text = strings.TrimLeft(text, "'")
	for _, sign := range []string{"=", "+", "-", "@", "＝", "＋", "－", "＠"} {
		if strings.HasPrefix(text, sign) {
			return true
		}
	}
	return false
}
