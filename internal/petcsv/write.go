package petcsv

import (
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// ByteOrderMark makes Excel read a file as UTF-8.
const ByteOrderMark = "\ufeff"

// AppendHeader appends the header line, which names the columns.
func AppendHeader(to []byte) []byte {
	return append(append(to, strings.Join(Columns(), ",")...), "\r\n"...)
}

// Append appends the line for one animal.
func Append(to []byte, row shop.ExportRow) []byte { return append(appendPet(to, row), "\r\n"...) }

// appendPet appends the cells of an animal. The entity tag keeps its quotes. Without them, spreadsheet programs would
// mistake a tag such as 12345678901234567890123456789e12 for a number and round it.
func appendPet(to []byte, row shop.ExportRow) []byte {
	to = strconv.AppendInt(to, row.ID, 10)
	to = append(to, ',')
	to = appendQuoted(to, escapeFormula(row.Name))
	to = append(to, ',')
	to = strconv.AppendInt(to, row.CategoryID, 10)
	to = append(to, ',')
	to = append(to, row.Status...)
	to = append(to, ',')
	to = appendQuoted(to, row.ETag())
	to = append(to, ',')
	return appendQuoted(to, escapeFormula(row.Category))
}

// AppendRow appends a line with the given cells, none of which runs as a formula.
func AppendRow(to []byte, cells ...string) []byte {
	for i, cell := range cells {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendQuoted(to, escapeFormula(cell))
	}
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

// escapeFormula adds an apostrophe before a text that a spreadsheet program would run as a formula. The name of an
// animal must not execute anything on the computer of someone who opens the file. Where the decimal separator is a
// comma, spreadsheet programs split lines at semicolons, even inside quotes, and a line break inside quotes then begins
// a row. Therefore every part of the text that could become a cell is escaped. A part that already begins with apostrophes and a formula sign gets another
// apostrophe, so that unescapeFormula can restore every text.
func escapeFormula(text string) string {
	return mapCells(text, func(cell string) string {
		if isFormula(cell) {
			return "'" + cell
		}
		return cell
	})
}

// unescapeFormula reverses escapeFormula.
func unescapeFormula(text string) string {
	return mapCells(text, func(cell string) string {
		if rest, ok := strings.CutPrefix(cell, "'"); ok && isFormula(rest) {
			return rest
		}
		return cell
	})
}

// mapCells applies convert to each part of a text that a spreadsheet program could treat as a separate cell.
func mapCells(text string, convert func(string) string) string {
	var result strings.Builder
	for {
		end := strings.IndexAny(text, ",;\t\n")
		if end < 0 {
			return result.String() + convert(text)
		}
		result.WriteString(convert(text[:end]) + text[end:end+1])
		text = text[end+1:]
	}
}

// isFormula reports whether a cell begins with a formula sign, ignoring spaces, quotes and apostrophes. The signs
// include the full-width forms that East Asian keyboards produce.
func isFormula(cell string) bool {
	cell = strings.TrimLeft(cell, `'" `)
	for _, sign := range []string{"=", "+", "-", "@", "＝", "＋", "－", "＠"} {
		if strings.HasPrefix(cell, sign) {
			return true
		}
	}
	return false
}
