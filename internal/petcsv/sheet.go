package petcsv

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"animalstore/internal/shop"
)

const (
	// maxSheetColumns is the maximum number of columns of a sheet.
	maxSheetColumns = 256
	// maxSamples and maxSample are the maximum number and length of the examples of a column, in bytes.
	maxSamples = 3
	maxSample  = 60
)

// Sheet is a file of animals as people keep it, with columns and ways of writing of their own.
type Sheet struct {
	Encoding  Encoding
	Separator rune // a comma, a semicolon or a tab
	Columns   []SheetColumn
	Rows      int // the number of rows that are not blank, without the header

	text []byte // in UTF-8, without a byte order mark
}

// SheetColumn is a column of a sheet.
type SheetColumn struct {
	Title   string   // "" if the column has none
	Key     string   // identifies the column in files with the same titles
	Field   string   // the field that the column is matched to, Ignore, or "" if nobody has decided
	Values  int      // the number of rows that have a value in the column
	Samples []string // the first different values

	dates   dateEvidence
	amounts amountEvidence
}

// OpenSheet reads the titles of a file and examines its columns. The parameter choices contains the fields of the columns
// by their Key. The other columns are matched by their titles. Those that have no values are ignored. OpenSheet fails with
// validation_failed if the file is not CSV, has too many columns, or has a row that is too long.
func OpenSheet(file []byte, choices map[string]string) (*Sheet, error) {
	text, encoding, err := decodeText(file)
	if err != nil {
		return nil, err
	}
	s := &Sheet{Encoding: encoding, text: text}
	if rest, ok := bytes.CutPrefix(text, []byte("sep=")); ok && len(rest) > 0 { // a line for Excel
		s.Separator = rune(rest[0])
		_, s.text, _ = bytes.Cut(rest, []byte("\n"))
	}
	if !bytes.Contains(s.text, []byte("\n")) { // classic Mac OS ended lines with \r alone
		s.text = bytes.ReplaceAll(s.text, []byte("\r"), []byte("\n"))
	}
	if !slices.Contains(separators, s.Separator) {
		s.Separator = detectSeparator(s.text)
	}
	if err := s.readTitles(choices); err != nil {
		return nil, err
	}
	err = s.forEach(func(record sheetRecord) bool {
		s.Rows++
		for i, cell := range record.cells[:min(len(record.cells), len(s.Columns))] {
			s.Columns[i].examine(cell)
		}
		return true
	})
	for i := range s.Columns {
		if c := &s.Columns[i]; c.Values == 0 && c.Field == "" {
			c.Field = Ignore
		}
	}
	return s, err
}

var separators = []rune{',', ';', '\t'}

// readTitles reads the header line and matches the columns.
func (s *Sheet) readTitles(choices map[string]string) error {
	header, err := s.newReader(&recordReader{file: s.text, left: shop.MaxImportRow}).Read()
	switch {
	case err == io.EOF:
		return shop.Errorf(shop.ValidationFailed, "The file is empty; its first line must name the columns.")
	case errors.Is(err, errRecordTooLong):
		return shop.Errorf(shop.ValidationFailed, "The first line, which names the columns, is too long; check the quotes in it.")
	case err != nil:
		return shop.Errorf(shop.ValidationFailed, "The first line, which names the columns, %s.", parseProblem(err))
	case len(header) > maxSheetColumns:
		return shop.Errorf(shop.ValidationFailed, "The file has %d columns; the limit is %d.", len(header), maxSheetColumns)
	}
	s.Columns = make([]SheetColumn, len(header))
	seen := map[string]int{}
	for i, title := range header {
		title = oneLine(title)
		seen[title]++
		hash := fnv.New64a()
		fmt.Fprintf(hash, "%s\n%d", title, seen[title])
		s.Columns[i] = SheetColumn{Title: strings.Clone(title), Key: fmt.Sprintf("%016x", hash.Sum64())}
	}
	match(s.Columns)
	for i := range s.Columns {
		if field, chosen := choices[s.Columns[i].Key]; chosen && (field == "" || field == Ignore || slices.Contains(fieldNames, field)) {
			s.Columns[i].Field = field
		}
	}
	return nil
}

func (s *Sheet) newReader(source io.Reader) *csv.Reader {
	reader := csv.NewReader(source)
	reader.Comma = s.Separator
	reader.FieldsPerRecord = -1
	return reader
}

// examine adds a cell to what is known of a column.
func (c *SheetColumn) examine(cell string) {
	if strings.TrimSpace(cell) == "" {
		return
	}
	c.Values++
	if len(c.Samples) < maxSamples {
		if sample := cutCell(oneLine(cell)); !slices.Contains(c.Samples, sample) {
			c.Samples = append(c.Samples, strings.Clone(sample))
		}
	}
	switch c.Field {
	case "birthDate", "arrivalDate":
		c.dates.add(cell)
	case "price":
		c.amounts.add(cell)
	}
}

// cutCell returns the beginning of a cell.
func cutCell(cell string) string {
	if len(cell) <= maxSample {
		return cell
	}
	return strings.ToValidUTF8(cell[:maxSample], "") + "…"
}

// sheetRecord is a row of a sheet that is not blank.
type sheetRecord struct {
	number int      // the number that a spreadsheet program shows beside the row
	cells  []string // valid until the next record; nil if the row cannot be parsed
	raw    []byte   // the text of the row
	err    error    // why the row cannot be parsed, or nil
}

// forEach calls fn with each row until fn returns false. It fails with validation_failed if a row is too long.
func (s *Sheet) forEach(fn func(sheetRecord) bool) error {
	source := &recordReader{file: s.text, left: shop.MaxImportRow}
	reader := s.newReader(source)
	reader.ReuseRecord = true
	// The number of a row is the number of its line without the line breaks in the cells above.
	breaks, end, header := 0, int64(0), true
	for {
		source.left = shop.MaxImportRow
		cells, err := reader.Read()
		if err == io.EOF {
			return nil
		}
		if errors.Is(err, errRecordTooLong) {
			return shop.Errorf(shop.ValidationFailed, "A row has more than %d bytes; check the quotes in the file.", shop.MaxImportRow)
		}
		start := end
		end = reader.InputOffset()
		record := sheetRecord{cells: cells, raw: bytes.Trim(s.text[start:end], "\r\n"), err: err}
		if failed, ok := errors.AsType[*csv.ParseError](err); ok {
			record.cells, record.number = nil, failed.StartLine-breaks
			breaks += failed.Line - failed.StartLine
		} else {
			line, _ := reader.FieldPos(0)
			record.number = line - breaks
			for _, cell := range cells {
				breaks += strings.Count(cell, "\n")
			}
		}
		if header {
			header = false
		} else if (err != nil || !isBlank(cells)) && !fn(record) {
			return nil
		}
	}
}

// Has reports whether a column is matched to a field.
func (s *Sheet) Has(field string) bool { return s.column(field) >= 0 }

// column returns the index of the column that is matched to a field, or -1.
func (s *Sheet) column(field string) int {
	return slices.IndexFunc(s.Columns, func(c SheetColumn) bool { return c.Field == field })
}

// TitleOf returns the title of the column that is matched to a field, or "".
func (s *Sheet) TitleOf(field string) string {
	if i := s.column(field); i >= 0 {
		return s.Columns[i].Title
	}
	return ""
}

// Twice returns a field that several columns are matched to, or "".
func (s *Sheet) Twice() string {
	seen := map[string]bool{"": true, Ignore: true}
	for _, column := range s.Columns {
		if seen[column.Field] && column.Field != "" && column.Field != Ignore {
			return column.Field
		}
		seen[column.Field] = true
	}
	return ""
}

// HasAnimals reports whether the columns are matched that an animal needs: its name, or, to change only its profile, those of
// an export.
func (s *Sheet) HasAnimals() bool { return s.Has("name") || s.positions(SheetReading{}).profileOnly() }

// UnclearDate returns an example of a date whose order the sheet does not show, or "".
func (s *Sheet) UnclearDate() string {
	for _, column := range s.Columns {
		if column.dates.either != "" && column.dates.order() == "" {
			return column.dates.either
		}
	}
	return ""
}

// LacksCurrency reports whether there are amounts without a currency, and no column has the currency.
func (s *Sheet) LacksCurrency() bool {
	return !s.Has("currency") && slices.ContainsFunc(s.Columns, func(c SheetColumn) bool { return c.amounts.bare })
}
