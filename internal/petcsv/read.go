// Package petcsv reads and writes animals as CSV. It writes CSV as defined by RFC 4180 and reads the variants
// that spreadsheet programs write.
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
	"unicode/utf8"

	"animalstore/internal/shop"
)

// Columns returns the column names of an animal in the order in which they are written. Read accepts the columns in any
// order and requires only name and either categoryId or category.
func Columns() []string { return []string{"id", "name", "categoryId", "status", "etag", "category"} }

const expectedColumns = "name, categoryId or category, and optionally status, id and etag"

// Read parses a CSV file of animals. The first line names the columns. Columns are separated by commas,
// semicolons or tabs. Problems in a row are recorded in that row. Read fails with validation_failed if the
// file is not UTF-8, its header is missing or invalid, or a row is too long. It stops after shop.MaxImport + 1
// rows.
func Read(file []byte) ([]shop.ImportRow, error) { return read(file, false) }

// ReadProfiles is like Read, for a file that may also have the columns of profiles. If it has the columns id and
// profileEtag, it need not have those of animals.
func ReadProfiles(file []byte) ([]shop.ImportRow, error) { return read(file, true) }

func read(file []byte, profiles bool) ([]shop.ImportRow, error) {
	if bytes.HasPrefix(file, []byte("\xff\xfe")) || bytes.HasPrefix(file, []byte("\xfe\xff")) {
		return nil, shop.Errorf(shop.ValidationFailed, "The file is UTF-16; save it as CSV in UTF-8.")
	}
	if !utf8.Valid(file) {
		return nil, shop.Errorf(shop.ValidationFailed, "The file is not UTF-8; save it as “CSV UTF-8” in the spreadsheet program.")
	}
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	if !bytes.Contains(file, []byte("\n")) { // classic Mac OS ended lines with \r alone
		file = bytes.ReplaceAll(file, []byte("\r"), []byte("\n"))
	}
	source := &recordReader{file: file, left: shop.MaxImportRow}
	reader := csv.NewReader(source)
	reader.Comma = detectSeparator(file)
	reader.FieldsPerRecord = -1
	reader.ReuseRecord = true
	header, err := reader.Read()
	if err == io.EOF {
		return nil, shop.Errorf(shop.ValidationFailed, "The file is empty; the header line must name the columns: %s.", expected(profiles))
	}
	if errors.Is(err, errRecordTooLong) {
		return nil, shop.Errorf(shop.ValidationFailed, "The header line has more than %d bytes; the columns are %s.", shop.MaxImportRow, expected(profiles))
	}
	if err != nil {
		return nil, shop.Errorf(shop.ValidationFailed, "The header line %s.", parseProblem(err))
	}
	columns, err := parseHeader(header, profiles)
	if err != nil {
		return nil, err
	}
	rows := make([]shop.ImportRow, 0, min(shop.MaxImport, bytes.Count(file, []byte("\n"))))
	for len(rows) <= shop.MaxImport {
		source.left = shop.MaxImportRow
		record, err := reader.Read()
		switch {
		case err == io.EOF:
			return rows, nil
		case errors.Is(err, errRecordTooLong):
			return nil, shop.Errorf(shop.ValidationFailed, "A row has more than %d bytes; check the quotes in the file.", shop.MaxImportRow)
		case err != nil:
			rows = append(rows, unparsableRow(err))
		case !isBlank(record):
			line, _ := reader.FieldPos(0)
			rows = append(rows, columns.row(line, record))
		}
	}
	return rows, nil
}

// recordReader reads a file for a csv.Reader. It fails if a record has more bytes than the number in left.
type recordReader struct {
	file []byte
	left int // how many more bytes the current record may have; Read sets it before each record
}

var errRecordTooLong = errors.New("the record is too long")

func (r *recordReader) Read(p []byte) (int, error) {
	switch {
	case len(r.file) == 0:
		return 0, io.EOF
	case r.left <= 0:
		return 0, errRecordTooLong
	}
	n := copy(p, r.file[:min(len(r.file), r.left)])
	r.file = r.file[n:]
	if len(bytes.Trim(p[:n], "\r\n")) > 0 { // csv.Reader skips any number of blank lines before a record
		r.left -= n
	}
	return n, nil
}

// detectSeparator returns the separator that is most frequent in the first line.
func detectSeparator(file []byte) rune {
	line, _, _ := bytes.Cut(bytes.TrimLeft(file, "\r\n"), []byte("\n"))
	best, maxCount := ',', 0
	for _, candidate := range separators {
		if n := bytes.Count(line, []byte(string(candidate))); n > maxCount {
			best, maxCount = candidate, n
		}
	}
	return best
}

// columns holds the position of each column in a record, or -1 if the column is missing.
type columns struct {
	id, name, categoryID, status, etag, category int
	profileETag, photo                           int
	profiles                                     []int  // for each of profileColumns
	known                                        []bool // whether the header names the column at this position
}

func parseHeader(header []string, profiles bool) (columns, error) {
	c := columns{-1, -1, -1, -1, -1, -1, -1, -1, nil, make([]bool, len(header))}
	positions := map[string]*int{
		"id": &c.id, "name": &c.name, "categoryid": &c.categoryID, "status": &c.status, "etag": &c.etag, "category": &c.category,
	}
	if profiles {
		positions[strings.ToLower(profileETagColumn)], positions[photoColumn] = &c.profileETag, &c.photo
		c.profiles = slices.Repeat([]int{-1}, len(profileColumns))
		for i, column := range profileColumns {
			positions[strings.ToLower(column.name)] = &c.profiles[i]
		}
	}
	for i, title := range header {
		title = strings.TrimSpace(title)
		position := positions[titleSeparators.Replace(strings.ToLower(title))]
		switch {
		case title == "": // an unnamed column, which must be empty in every row
			continue
		case position == nil:
			return c, shop.Errorf(shop.ValidationFailed, "The header line names an unknown column %s; the columns are %s.", quoteValue(title), expected(profiles))
		case *position >= 0:
			return c, shop.Errorf(shop.ValidationFailed, "The header line names the column %s twice; name each column once.", quoteValue(title))
		}
		*position, c.known[i] = i, true
	}
	missing := ""
	switch {
	case c.profileOnly():
		return c, nil
	case c.name < 0:
		missing = "name"
	case c.categoryID < 0 && c.category < 0:
		missing = "categoryId or category"
	default:
		return c, nil
	}
	return c, shop.Errorf(shop.ValidationFailed, "The header line lacks the column %s; the columns are %s.", missing, expected(profiles))
}

// expected lists the columns for an error message.
func expected(profiles bool) string {
	if profiles {
		return strings.Replace(expectedColumns, "id and etag", "id, etag and those of profiles", 1)
	}
	return expectedColumns
}

// profileOnly reports whether the file leaves the animals as they are and changes only their profiles.
func (c columns) profileOnly() bool {
	return c.id >= 0 && c.profileETag >= 0 && max(c.name, c.categoryID, c.category, c.status) < 0
}

// titleSeparators removes the characters between the words of a column title, as in Category ID or category_id.
var titleSeparators = strings.NewReplacer(" ", "", "_", "", "-", "")

// quoteValue prepares a column title or a value for an error message. It shortens a long text and escapes invisible
// characters.
func quoteValue(text string) string {
	if runes := []rune(text); len(runes) > 40 {
		text = string(runes[:40]) + "…"
	}
	return strconv.Quote(text)
}

func isBlank(record []string) bool {
	return !slices.ContainsFunc(record, func(field string) bool { return strings.TrimSpace(field) != "" })
}

// row parses one animal. It keeps spaces around the name and ignores spaces around the other values.
func (c columns) row(line int, record []string) shop.ImportRow {
	row := shop.ImportRow{Line: line}
	field := func(column int) string {
		if column < 0 || column >= len(record) {
			return "" // the column is missing in the header or at the end of this row
		}
		return record[column]
	}
	for i, value := range record {
		if (i >= len(c.known) || !c.known[i]) && value != "" {
			row.Problems.Add("", fmt.Sprintf("has a value in column %d, which the header line does not name; remove the value or name the column", i+1))
			break
		}
	}
	integer := func(column int, name string) *int64 {
		text := strings.TrimSpace(field(column))
		n, ok := parseInteger(text)
		if text == "" {
			return nil
		}
		if !ok {
			row.Problems.Add(name, "must be a whole number without separators, such as 1234, not "+quoteValue(text))
		}
		return &n
	}
	if row.ProfileOnly = c.profileOnly(); row.ProfileOnly {
		row.ID = integer(c.id, "id")
		c.profile(&row, field)
		return row
	}
	if row.Name = unescapeFormula(field(c.name)); row.Name == "" {
		row.Problems.Add("name", "is required")
	}
	row.Status = shop.Status(strings.TrimSpace(field(c.status)))
	row.ETag = strings.TrimSpace(field(c.etag))
	row.Category = strings.Trim(unescapeFormula(field(c.category)), " ")
	if category := integer(c.categoryID, "categoryId"); category != nil {
		row.CategoryID = *category
	} else if row.ByName = true; row.Category == "" {
		row.Problems.Add("categoryId", "or category is required")
	}
	row.ID = integer(c.id, "id")
	c.profile(&row, field)
	return row
}

// parseInteger parses an integer. It accepts 7.0 and 7,00, because spreadsheet programs write integers like this. It
// rejects 1.000, which could also mean a thousand, and 1.2E+17, because a number in this form has lost digits.
func parseInteger(text string) (int64, bool) {
	whole, zeros := text, ""
	if point := strings.IndexAny(text, ".,"); point >= 0 {
		whole, zeros = text[:point], text[point+1:]
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	return n, err == nil && !strings.HasPrefix(whole, "+") && strings.Trim(zeros, "0") == "" && len(zeros) != 3
}

func unparsableRow(err error) shop.ImportRow {
	var row shop.ImportRow
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		row.Line = e.StartLine
	}
	row.Problems.Add("", parseProblem(err))
	return row
}

// parseProblem explains why a record cannot be parsed.
func parseProblem(err error) string {
	if errors.Is(err, csv.ErrBareQuote) {
		return "has a quote inside an unquoted value; put the value in quotes and double each quote inside it"
	}
	return "has a quoted value that does not end correctly; double each quote inside it"
}
