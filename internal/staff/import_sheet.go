package staff

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
)

// columnChoice is the beginning of the names of the form fields with the fields of the columns.
const columnChoice = "c-"

// importSheet is the template data for a file that the user has chosen.
type importSheet struct {
	*petcsv.Sheet
	Name       string // the name of the file
	Held       string // the file in base64, if it is small and no script can send it again
	Reading    petcsv.SheetReading
	ForAll     bool // whether the page asks for the category of animals without one
	Part       int  // which part of the file is imported, from 0; a part has as many rows as an import can have
	Left       rowSet
	LeftRows   int    // the number of rows in Left
	contentSum string // identifies the file
}

// openSheet reads the titles of a file and what the user has answered about it.
func (x *exchange) openSheet(name string, content []byte) (*importSheet, error) {
	choices := map[string]string{}
	for field := range x.r.PostForm {
		if key, ok := strings.CutPrefix(field, columnChoice); ok {
			choices[key] = x.field(field)
		}
	}
	sheet, err := petcsv.OpenSheet(content, choices)
	if err != nil {
		return nil, err
	}
	if x.field("ignore") != "" {
		for i := range sheet.Columns {
			if sheet.Columns[i].Field == "" {
				sheet.Columns[i].Field = petcsv.Ignore
			}
		}
	}
	sum := sha256.Sum256(content)
	s := &importSheet{Sheet: sheet, Name: name, contentSum: hex.EncodeToString(sum[:])}
	if part, file, _ := strings.Cut(cmp.Or(x.field("next"), x.field("part")), "-"); file == s.contentSum {
		s.Part, _ = strconv.Atoi(part)
		s.Part = max(0, min(s.Part, s.Parts()-1))
	}
	s.Reading = petcsv.SheetReading{From: s.Part * shop.MaxImport, Most: shop.MaxImport, Category: strings.TrimSpace(x.field("all-category"))}
	s.ForAll = !s.Has("category") && !s.Has("categoryId") || s.Reading.Category != ""
	if status := x.field("all-status"); s.AsksStatus() && shop.StatusProblem(status) == "" {
		s.Reading.Status = status
	}
	if order := petcsv.DateOrder(x.field("dates")); order == petcsv.DayFirst || order == petcsv.MonthFirst {
		s.Reading.Dates = order
	}
	if s.LacksCurrency() {
		s.Reading.Currency = strings.ToUpper(strings.TrimSpace(x.field("currency")))
		if !x.r.PostForm.Has("currency") {
			s.Reading.Currency = x.Service.CurrentSettings().Currency
		}
	}
	return s, nil
}

// Parts returns the number of parts in which the file is imported.
func (s *importSheet) Parts() int { return max(1, (s.Rows+shop.MaxImport-1)/shop.MaxImport) }

// PartOf returns the value of the form field that selects a part of this file.
func (s *importSheet) PartOf(part int) string { return fmt.Sprintf("%d-%s", part, s.contentSum) }

// AsksStatus reports whether the page asks for the status of all new animals, because no column has it.
func (s *importSheet) AsksStatus() bool { return s.Has("name") && !s.Has("status") }

// CurrencyProblem says what is wrong with the currency for amounts without one, or "".
func (s *importSheet) CurrencyProblem() string {
	if !s.LacksCurrency() || shop.CurrencyProblem(s.Reading.Currency) == "" {
		return ""
	}
	if s.Reading.Currency == "" {
		return "Enter the currency."
	}
	return "This is not the code of a currency, such as EUR."
}

// Undecided returns the columns about which the user must decide.
func (s *importSheet) Undecided() (columns []petcsv.SheetColumn) {
	for _, column := range s.Columns {
		if column.Field == "" {
			columns = append(columns, column)
		}
	}
	return columns
}

// Counts returns the numbers of columns that are imported and ignored.
func (s *importSheet) Counts() (counts struct{ Matched, Ignored int }) {
	for _, column := range s.Columns {
		switch column.Field {
		case "":
		case petcsv.Ignore:
			counts.Ignored++
		default:
			counts.Matched++
		}
	}
	return counts
}

// Unanswered reports whether the rows cannot be read before the user has answered a question.
func (s *importSheet) Unanswered() bool {
	return !s.HasAnimals() || s.Twice() != "" || s.NeedsCategory() || s.CurrencyProblem() != "" || s.NeedsDates()
}

// NeedsCategory reports whether neither the file nor the user says which category the animals have.
func (s *importSheet) NeedsCategory() bool {
	return s.Has("name") && !s.Has("category") && !s.Has("categoryId") && s.Reading.Category == ""
}

// NeedsDates reports whether the user must say which number of a date is the day.
func (s *importSheet) NeedsDates() bool { return s.UnclearDate() != "" && s.Reading.Dates == "" }

// UnclearAs returns the date that UnclearDate means in one order.
func (s *importSheet) UnclearAs(order petcsv.DateOrder) string {
	return formatDay(petcsv.ReadDate(s.UnclearDate(), order))
}

// formatDay formats a date so that everybody understands it. It returns other texts unchanged.
func formatDay(text string) string {
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		return date.Format("2 Jan 2006")
	}
	return text
}

// SeparatorName returns the name of the separator.
func (s *importSheet) SeparatorName() string {
	return map[rune]string{',': "commas", ';': "semicolons", '\t': "tabs"}[s.Separator]
}

// checksum returns a checksum of everything that decides what an import does. Only what was previewed can be imported.
func (s *importSheet) checksum(upsert bool) string {
	var fields []string
	for _, column := range s.Columns {
		fields = append(fields, column.Field)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %t %q %+v %s", s.contentSum, upsert, fields, s.Reading, s.Left))
	return hex.EncodeToString(sum[:])
}

// readRows reads the rows of the part and notices whether some have no category.
func (s *importSheet) readRows() ([]shop.ImportRow, error) {
	rows, err := s.Read(s.Reading)
	for _, row := range rows {
		for member, reason := range row.Problems.All() {
			s.ForAll = s.ForAll || member == "categoryId" && reason == noCategory
		}
	}
	return rows, err
}

// noCategory is what package petcsv says about a row without a category.
const noCategory = "or category is required"

// rowSet is a set of rows of a part, as a text: a bit for each row in base64.
type rowSet string

func newRowSet(indices []int) rowSet {
	if len(indices) == 0 {
		return ""
	}
	bits := make([]byte, slices.Max(indices)/8+1)
	for _, i := range indices {
		bits[i/8] |= 1 << (i % 8)
	}
	return rowSet(base64.RawURLEncoding.EncodeToString(bits))
}

// split returns the rows that are not in the set, and the indices of those that are.
func (s rowSet) split(rows []shop.ImportRow) (others []shop.ImportRow, in []int) {
	bits, _ := base64.RawURLEncoding.DecodeString(string(s)) // a text that is damaged contains the rows before the damage
	for i, row := range rows {
		if i/8 < len(bits) && bits[i/8]&(1<<(i%8)) != 0 {
			in = append(in, i)
		} else {
			others = append(others, row)
		}
	}
	return others, in
}

// fieldLabels are the fields that a column can be matched to, in words. Those of profiles are the labels on the page of an
// animal.
var fieldLabels = func() map[string]string {
	labels := map[string]string{
		"id": "Number of the animal", "name": "Name", "categoryId": "Number of the category", "category": "Category", "status": "Status",
		"etag": "Version of the animal", "profileEtag": "Version of the profile", petcsv.Ignore: "Ignore this column",
	}
	for _, section := range profileSections() {
		for _, field := range section.Fields {
			words := strings.Split(field.Name, "-")
			for i, word := range words[1:] {
				words[i+1] = capitalized(word)
			}
			labels[strings.Join(words, "")] = field.Label
		}
	}
	labels["published"], labels["price"], labels["birthDateEstimated"] = "Published", labels["amount"], "Date of birth is estimated"
	return labels
}()

// fieldLabel returns the label of a field in the words of the shop or shelter.
func (p *Pages) fieldLabel(field string) string { return p.word(fieldLabels[field]) }

// fieldGroup is a group of fields in the list of those that a column can be matched to.
type fieldGroup struct {
	Label  string
	Fields []string
}

// fieldGroups returns the fields that a column can be matched to.
func fieldGroups() []fieldGroup {
	groups := []fieldGroup{{"Animal", []string{"name", "category", "status"}}, {Label: "Profile"}, {"From an export", []string{"id", "categoryId", "etag", "profileEtag"}}}
	for _, field := range petcsv.Fields() {
		if !slices.Contains(groups[0].Fields, field) && !slices.Contains(groups[2].Fields, field) {
			groups[1].Fields = append(groups[1].Fields, field)
		}
	}
	return groups
}
