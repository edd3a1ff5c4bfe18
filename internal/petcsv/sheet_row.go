package petcsv

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"animalstore/internal/shop"
)

// SheetReading says which rows of a sheet to read, and what applies to cells that are empty or could mean two things.
type SheetReading struct {
	From, Most int       // the index of the first row, and the maximum number of rows
	Dates      DateOrder // the order of dates in columns that do not show it; "" if it is not known
	Category   string    // the category of new animals without one
	Status     string    // the status of new animals without one
	Currency   string    // the currency of new amounts without one
}

// fieldIndex maps each field to its index in fieldNames.
var fieldIndex = func() map[string]int {
	index := map[string]int{}
	for i, field := range fieldNames {
		index[field] = i
	}
	return index
}()

// positions returns the positions of the fields in a record that has a cell for each of fieldNames.
func (s *Sheet) positions(r SheetReading) columns {
	at := func(field string, given bool) int {
		if given || s.Has(field) {
			return fieldIndex[field]
		}
		return -1
	}
	animals := s.Has("name")
	c := columns{
		id: at("id", false), name: at("name", false), categoryID: at("categoryId", false), status: at("status", animals && r.Status != ""),
		etag: at("etag", false), category: at("category", animals && r.Category != ""), profileETag: at(profileETagColumn, false), photo: -1,
		known: slices.Repeat([]bool{true}, len(fieldNames)),
	}
	for _, column := range profileColumns {
		c.profiles = append(c.profiles, at(column.name, column.name == "currency" && s.Has("price")))
	}
	return c
}

// Read parses the rows as the columns are matched. The line of a row is the number that a spreadsheet program shows.
// Problems in a row are recorded in that row.
func (s *Sheet) Read(r SheetReading) (rows []shop.ImportRow, err error) {
	positions := s.positions(r)
	cells, index := make([]string, len(fieldNames)), -1
	err = s.forEach(func(record sheetRecord) bool {
		if index++; index < r.From {
			return true
		}
		if len(rows) >= r.Most {
			return false
		}
		if record.err != nil {
			row := unparsableRow(record.err)
			row.Line = record.number
			rows = append(rows, row)
			return true
		}
		clear(cells)
		problems := s.translate(record.cells, r, cells)
		row := positions.row(record.number, cells)
		row.Problems.Merge(problems)
		rows = append(rows, row)
		return true
	})
	return rows, err
}

// translate converts the cells of a row to cells as an export has them, one for each of fieldNames. It returns what it
// cannot convert.
func (s *Sheet) translate(from []string, r SheetReading, to []string) (problems shop.Problems) {
	for i, cell := range from {
		if i >= len(s.Columns) {
			if strings.TrimSpace(cell) != "" {
				problems.Add("", fmt.Sprintf("has a value in column %d, which has no title; remove the value, or put texts that contain a separator in quotes", i+1))
				break
			}
			continue
		}
		column := &s.Columns[i]
		if column.Field == "" || column.Field == Ignore || strings.TrimSpace(cell) == "" {
			continue
		}
		value, reason := column.value(cell, r)
		if reason != "" {
			problems.Add(column.Field, reason)
		}
		to[fieldIndex[column.Field]] = value
	}
	cell := func(field string) *string { return &to[fieldIndex[field]] }
	if strings.TrimSpace(*cell("id")) == "" {
		if strings.Trim(*cell("category"), " ") == "" && strings.TrimSpace(*cell("categoryId")) == "" {
			*cell("category") = escapeFormula(r.Category)
		}
		if i := s.column("status"); i < 0 || i >= len(from) || strings.TrimSpace(from[i]) == "" {
			*cell("status") = r.Status
		}
	}
	if i := s.column("price"); i >= 0 && i < len(from) && *cell("price") != "" && *cell("price") != "-" {
		own := *cell("currency")
		if own == "" && strings.TrimSpace(*cell("id")) == "" {
			own = r.Currency
		}
		amount, currency, reason := s.Columns[i].amounts.price(*cell("price"), *cell("currency"), own)
		if reason != "" {
			problems.Add("price", reason)
		}
		*cell("price"), *cell("currency") = amount, currency
	}
	return problems
}

// price reads an amount as people write it. The parameter given is the currency in a column of its own, or "", and own the
// currency that applies if the amount has none.
func (e amountEvidence) price(cell, given, own string) (amount, currency, reason string) {
	written, ok := splitAmount(cell)
	wrong := "must be an amount such as 250.00, not " + quoteValue(cell)
	if !ok {
		return "", "", wrong
	}
	currency = own
	if written.currency != "" {
		if currency = currencyOf(written.currency, own); currency == "" {
			return "", "", "has a currency that is not known: " + quoteValue(cell) + "; write its code, such as EUR"
		}
		if given != "" && given != currency {
			return "", "", fmt.Sprintf("is in %s, but the column of the currency says %s", currency, quoteValue(given))
		}
	}
	if amount, ok = e.decimal(written.number, shop.CurrencyDigits(currency)); !ok {
		return "", "", wrong
	}
	return amount, currency, ""
}

// value converts a cell to the form that an export has. The cells of prices are converted later, together with their
// currency. It returns why the cell cannot be converted, or "".
func (c *SheetColumn) value(cell string, r SheetReading) (value, reason string) {
	text := strings.TrimSpace(unescapeFormula(cell))
	choose := func(words vocabulary, choices string) (string, string) {
		if value, known := words.find(text); known {
			return value, ""
		}
		return "", "must be " + choices + ", not " + quoteValue(text)
	}
	switch c.Field {
	case "id", "categoryId", "etag", profileETagColumn, "description", "notes":
		return cell, ""
	case "name", "category", "breed", "secondBreed", "color", "location":
		if strings.ContainsAny(cell, "\r\n") {
			cell = escapeFormula(oneLine(unescapeFormula(cell)))
		}
		return cell, ""
	case "tags":
		return tagSeparators.Replace(cell), ""
	case "contactUrl":
		return readContact(cell), ""
	}
	if text == "-" && c.Field != "status" && c.Field != "published" {
		return text, "" // removes the value
	}
	if saysNothing(text) {
		return "", ""
	}
	switch c.Field {
	case "status":
		return choose(statusWords, "one of available, pending, sold")
	case "sex":
		return choose(sexWords, "female or male")
	case "size":
		return choose(sizeWords, "small, medium, large or extra-large")
	case "birthDate", "arrivalDate":
		order := c.dates.order()
		if order == "" {
			order = r.Dates
		}
		if order == "" && ReadDate(text, DayFirst) != ReadDate(text, MonthFirst) {
			return "", "could mean two dates: " + quoteValue(text)
		}
		if value = ReadDate(text, order); value == "" {
			return "", "must be a date such as 2024-12-31, not " + quoteValue(text)
		}
		return value, ""
	case "microchip":
		chip, ok := readChip(text)
		if !ok {
			return "", "was rounded by the spreadsheet program to " + quoteValue(text) + "; format the column as text and enter the number again"
		}
		return chip, ""
	case "currency":
		if value = currencyOf(text, r.Currency); value == "" {
			return text, ""
		}
		return value, ""
	case "price":
		return text, ""
	}
	return choose(answerWords, "yes or no")
}

// leftOutChunk is the size in bytes from which LeftOut sends what it has written.
const leftOutChunk = 256 << 10

// LeftOut writes a CSV file with the given rows in the columns of the sheet, so that they can be corrected and imported
// again. Its first column says what to correct. reasons contains the texts by the index of the row. LeftOut sends the
// file in chunks, and fails if send does.
func (s *Sheet) LeftOut(reasons map[int]string, send func(chunk []byte) error) error {
	chunk := s.appendCells(nil, ReasonsTitle, s.titles())
	index, failed := -1, error(nil)
	err := s.forEach(func(record sheetRecord) bool {
		index++
		reason, wanted := reasons[index]
		if !wanted {
			return true
		}
		cells := record.cells
		if record.err != nil {
			cells = []string{string(record.raw)}
		}
		if chunk = s.appendCells(chunk, reason, cells); len(chunk) >= leftOutChunk {
			failed = send(chunk)
			chunk = chunk[:0]
		}
		return failed == nil
	})
	if err == nil && failed == nil {
		failed = send(chunk)
	}
	return cmp.Or(err, failed)
}

// isText reports whether a column has the names of animals or categories, in which a hyphen has no meaning of its own.
func (s *Sheet) isText(i int) bool {
	return i < len(s.Columns) && (s.Columns[i].Field == "name" || s.Columns[i].Field == "category")
}

func (s *Sheet) titles() (titles []string) {
	for _, column := range s.Columns {
		titles = append(titles, column.Title)
	}
	return titles
}

// appendCells appends a line. A column of reasons that an earlier file had is left out. None of the cells runs as a
// formula, and Read reads each of them as it would read the original one.
func (s *Sheet) appendCells(to []byte, reason string, cells []string) []byte {
	to = appendQuoted(to, escapeFormula(reason))
	for i, cell := range cells {
		if i < len(s.Columns) && s.Columns[i].Title == ReasonsTitle {
			continue
		}
		cell = escapeFormula(unescapeFormula(cell))
		if strings.Trim(cells[i], " ") == "-" && !s.isText(i) {
			cell = "-" // removes the value, and is no formula
		}
		to = appendQuoted(append(to, string(s.Separator)...), cell)
	}
	return append(to, "\r\n"...)
}
