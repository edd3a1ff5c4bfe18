package petcsv

import (
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// AppendHeader writes the line that names the columns.
func AppendHeader(to []byte) []byte {
	return append(append(to, strings.Join(Columns(), ",")...), "\r\n"...)
}

// Append writes the line of an animal.
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

// appendQuoted puts a text in quotes where a reader could take a part of it for something else, whatever separates its
// columns.
func appendQuoted(to []byte, text string) []byte {
	if !strings.ContainsAny(text, "\",;\t\r\n") && strings.TrimSpace(text) == text {
		return append(to, text...)
	}
	to = append(to, '"')
	to = append(to, strings.ReplaceAll(text, `"`, `""`)...)
	return append(to, '"')
}

// escapeFormula puts an apostrophe before a text that a spreadsheet would run as a formula: whoever names an animal must not be
// able to run anything at those who open the file. plain takes it away again, and nothing else: a text with apostrophes of
// its own before the sign gets one more.
func escapeFormula(text string) string {
	if isFormula(text) {
		return "'" + text
	}
	return text
}

// unescapeFormula undoes harmless.
func unescapeFormula(text string) string {
	if rest, ok := strings.CutPrefix(text, "'"); ok && isFormula(rest) {
		return rest
	}
	return text
}

// isFormula tells whether a text, without apostrophes before it, begins as a formula does, also in the wide signs of
// East Asian keyboards.
func isFormula(text string) bool {
	text = strings.TrimLeft(text, "'")
	for _, sign := range []string{"=", "+", "-", "@", "＝", "＋", "－", "＠"} {
		if strings.HasPrefix(text, sign) {
			return true
		}
	}
	return false
}
