// Package petcsv reads and writes animals as CSV: as RFC 4180 has it when written, and as people have it when read.
package petcsv

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// Columns are those that are written, in their order. Read takes them in any order; id is ignored, and status may be missing.
func Columns() []string { return []string{"id", "name", "categoryId", "status"} }

const expectedColumns = "name, categoryId and, where you like, status; id may be there and is ignored"

// Read reads a file of animals. The first line names its columns; commas, semicolons or tabs separate them. What is wrong
// with a row stands in the row. It returns validation_failed where the file as a whole cannot be read.
func Read(file []byte) ([]shop.ImportRow, error) {
	if bytes.HasPrefix(file, []byte("\xff\xfe")) || bytes.HasPrefix(file, []byte("\xfe\xff")) {
		return nil, shop.Errorf(shop.ValidationFailed, "The file is UTF-16; save it as CSV in UTF-8.")
	}
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	if !bytes.Contains(file, []byte("\n")) { // old Macs end lines so
		file = bytes.ReplaceAll(file, []byte("\r"), []byte("\n"))
	}
	reader := csv.NewReader(bytes.NewReader(file))
	reader.Comma = detectSeparator(file)
	reader.FieldsPerRecord = -1
	reader.ReuseRecord = true
	header, err := reader.Read()
	if err == io.EOF {
		return nil, shop.Errorf(shop.ValidationFailed, "The file is empty; begin it with a line that names the columns: %s.", expectedColumns)
	}
	if err != nil {
		return nil, shop.Errorf(shop.ValidationFailed, "The first line, which names the columns, %s.", parseProblem(err))
	}
	columns, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	rows := make([]shop.ImportRow, 0, min(shop.MaxImport, bytes.Count(file, []byte("\n"))))
	for {
		record, err := reader.Read()
		switch {
		case err == io.EOF:
			return rows, nil
		case err != nil:
			rows = append(rows, unparsableRow(err))
		case !isBlank(record):
			line, _ := reader.FieldPos(0)
			rows = append(rows, columns.row(line, record))
		}
	}
}

// detectSeparator finds what separates the columns: whatever stands most often in the first line.
func detectSeparator(file []byte) rune {
	line, _, _ := bytes.Cut(bytes.TrimLeft(file, "\r\n"), []byte("\n"))
	best, maxCount := ',', 0
	for _, candidate := range []rune{',', ';', '\t'} {
		if n := bytes.Count(line, []byte(string(candidate))); n > maxCount {
			best, maxCount = candidate, n
		}
	}
	return best
}

// columns says in which field of a record each column stands; -1: in none.
type columns struct {
	name, category, status int
	known                  []bool // the fields that have a name
}

func parseHeader(header []string) (columns, error) {
	c := columns{-1, -1, -1, make([]bool, len(header))}
	id := -1
	positions := map[string]*int{"name": &c.name, "categoryid": &c.category, "status": &c.status, "id": &id}
	for i, title := range header {
		title = strings.TrimSpace(title)
		position := positions[strings.ToLower(title)]
		switch {
		case title == "": // nothing may stand below it
			continue
		case position == nil:
			return c, shop.Errorf(shop.ValidationFailed, "The first line names a column %s that animals do not have; the columns are %s.", quoteTitle(title), expectedColumns)
		case *position >= 0:
			return c, shop.Errorf(shop.ValidationFailed, "The first line names the column %s twice; name each once.", quoteTitle(title))
		}
		*position, c.known[i] = i, true
	}
	for _, required := range []string{"name", "categoryId"} {
		if *positions[strings.ToLower(required)] < 0 {
			return c, shop.Errorf(shop.ValidationFailed, "The first line does not name the column %s; the columns are %s.", required, expectedColumns)
		}
	}
	return c, nil
}

// quoteTitle is a title as it can be told: short, and in visible characters.
func quoteTitle(title string) string {
	if runes := []rune(title); len(runes) > 40 {
		title = string(runes[:40]) + "…"
	}
	return strconv.Quote(title)
}

func isBlank(record []string) bool {
	return !slices.ContainsFunc(record, func(field string) bool { return strings.TrimSpace(field) != "" })
}

// row reads one animal. The name is kept as it is; around what is no free text, spaces do not matter.
func (c columns) row(line int, record []string) shop.ImportRow {
	row := shop.ImportRow{Line: line}
	field := func(column int) string {
		if column < 0 || column >= len(record) {
			return "" // rows may end early
		}
		return record[column]
	}
	for i, value := range record {
		if (i >= len(c.known) || !c.known[i]) && value != "" {
			row.Problems.Add("", fmt.Sprintf("has a value in column %d, which the first line does not name", i+1))
		}
	}
	if row.Name = unescapeFormula(field(c.name)); row.Name == "" {
		row.Problems.Add("name", "is required")
	}
	row.Status = shop.Status(strings.TrimSpace(field(c.status)))
	category := strings.TrimSpace(field(c.category))
	n, ok := parseInteger(category)
	switch {
	case category == "":
		row.Problems.Add("categoryId", "is required")
	case !ok:
		row.Problems.Add("categoryId", "must be an integer of 64 bits")
	}
	row.CategoryID = n
	return row
}

// parseInteger reads a whole number. 7.0 is one, as tables of numbers write it; 1.2E+17 is none: digits of it are lost.
func parseInteger(text string) (int64, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	return n, err == nil && !strings.HasPrefix(whole, "+") && strings.Trim(fraction, "0") == ""
}

func unparsableRow(err error) shop.ImportRow {
	var row shop.ImportRow
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		row.Line = e.StartLine
	}
	row.Problems.Add("", parseProblem(err))
	return row
}

// parseProblem says why a record cannot be read.
func parseProblem(err error) string {
	if errors.Is(err, csv.ErrBareQuote) {
		return "has a quote inside a value; put the whole value in quotes and write each quote in it twice"
	}
	return "has a value in quotes that does not end as it should; write each quote in it twice"
}
