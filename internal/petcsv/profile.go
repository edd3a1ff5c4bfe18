package petcsv

import (
	"regexp"
	"strings"

	"animalstore/internal/shop"
)

// profileColumn is a column for a member of a profile, or for a part of it.
type profileColumn struct {
	name     string
	internal bool // whether only keys that may change the profile see the column
	cell     func(shop.Profile) string
	// set stores the value of a cell in the row, or removes the member if the value is empty. It returns what is wrong
	// with the value, or "".
	set func(row *shop.ProfileRow, value string) string
}

// profileColumns are the columns of profiles in the order in which they are written.
var profileColumns = makeProfileColumns()

func makeProfileColumns() []profileColumn {
	columns := []profileColumn{
		{name: "published", cell: func(p shop.Profile) string { return yesOrNo(shop.AnswerOf(p.Published)) }, set: setPublished},
		textColumn("description", func(p shop.Profile) string { return p.Description }, func(r *shop.ProfileRow) **string { return &r.Description }),
		breedColumn("breed", 0, func(r *shop.ProfileRow) **string { return &r.Breed }),
		breedColumn("secondBreed", 1, func(r *shop.ProfileRow) **string { return &r.SecondBreed }),
		answerColumn("mixed", func(p shop.Profile) shop.Answer { return p.Mixed }, func(r *shop.ProfileRow, a shop.Answer) { r.Mixed = &a }),
		wordColumn("sex", strings.ToLower, func(p shop.Profile) shop.Sex { return p.Sex }, func(r *shop.ProfileRow) **shop.Sex { return &r.Sex }),
		wordColumn("birthDate", keep, func(p shop.Profile) string { return p.BirthDate }, func(r *shop.ProfileRow) **string { return &r.BirthDate }),
		answerColumn("birthDateEstimated", func(p shop.Profile) shop.Answer { return p.BirthDateEstimated }, func(r *shop.ProfileRow, a shop.Answer) { r.BirthDateEstimated = &a }),
		wordColumn("size", strings.ToLower, func(p shop.Profile) shop.Size { return p.Size }, func(r *shop.ProfileRow) **shop.Size { return &r.Size }),
		textColumn("color", func(p shop.Profile) string { return p.Color }, func(r *shop.ProfileRow) **string { return &r.Color }),
		{name: "price", cell: func(p shop.Profile) string { return p.Price.Amount }, set: setAmount},
		wordColumn("currency", strings.ToUpper, func(p shop.Profile) string { return p.Price.Currency }, func(r *shop.ProfileRow) **string { return &r.Currency }),
		wordColumn("arrivalDate", keep, func(p shop.Profile) string { return p.ArrivalDate }, func(r *shop.ProfileRow) **string { return &r.ArrivalDate }),
	}
	for _, trait := range shop.AllTraits() {
		columns = append(columns, answerColumn(trait.String(), func(p shop.Profile) shop.Answer { return p.Traits[trait] },
			func(r *shop.ProfileRow, a shop.Answer) {
				if r.Traits == nil {
					r.Traits = map[shop.Trait]shop.Answer{}
				}
				r.Traits[trait] = a
			}))
	}
	columns = append(columns,
		profileColumn{name: "tags", cell: func(p shop.Profile) string { return strings.Join(p.Tags, ",") }, set: setTags},
		wordColumn("contactUrl", keep, func(p shop.Profile) string { return p.ContactURL }, func(r *shop.ProfileRow) **string { return &r.ContactURL }),
		wordColumn("microchip", keep, func(p shop.Profile) string { return p.Microchip }, func(r *shop.ProfileRow) **string { return &r.Microchip }),
		textColumn("location", func(p shop.Profile) string { return p.Location }, func(r *shop.ProfileRow) **string { return &r.Location }),
		textColumn("notes", func(p shop.Profile) string { return p.Notes }, func(r *shop.ProfileRow) **string { return &r.Notes }),
	)
	for i := len(columns) - 3; i < len(columns); i++ {
		columns[i].internal = true
	}
	return columns
}

// The columns of a profile that are not members of it. The column photo is only written: Read accepts it and ignores it.
const (
	photoColumn       = "photo"
	profileETagColumn = "profileEtag"
)

// textColumn returns a column for a text. Like a name, it is kept as it is.
func textColumn(name string, cell func(shop.Profile) string, field func(*shop.ProfileRow) **string) profileColumn {
	return profileColumn{name: name, cell: cell, set: func(row *shop.ProfileRow, value string) string {
		*field(row) = &value
		return ""
	}}
}

// wordColumn returns a column for a value that has no spaces around it. clean converts what people write to the value.
func wordColumn[T ~string](name string, clean func(string) string, cell func(shop.Profile) T, field func(*shop.ProfileRow) **T) profileColumn {
	return profileColumn{name: name, cell: func(p shop.Profile) string { return string(cell(p)) }, set: func(row *shop.ProfileRow, value string) string {
		*field(row) = new(T(clean(strings.TrimSpace(value))))
		return ""
	}}
}

func keep(value string) string { return value }

func breedColumn(name string, index int, field func(*shop.ProfileRow) **string) profileColumn {
	column := textColumn(name, func(p shop.Profile) string {
		if index >= len(p.Breeds) {
			return ""
		}
		return p.Breeds[index]
	}, field)
	set := column.set
	column.set = func(row *shop.ProfileRow, value string) string {
		if reason := shop.ShortTextProblem(value); value != "" && reason != "" {
			return reason
		}
		return set(row, value)
	}
	return column
}

func answerColumn(name string, cell func(shop.Profile) shop.Answer, set func(*shop.ProfileRow, shop.Answer)) profileColumn {
	return profileColumn{name: name, cell: func(p shop.Profile) string { return yesOrNo(cell(p)) }, set: func(row *shop.ProfileRow, value string) string {
		answer, ok := parseAnswer(value)
		if !ok {
			return "must be yes or no, not " + quoteValue(value)
		}
		set(row, answer)
		return ""
	}}
}

func yesOrNo(a shop.Answer) string {
	return [...]string{shop.Unknown: "", shop.No: "no", shop.Yes: "yes"}[a]
}

// parseAnswer accepts the words that are written, and those that spreadsheet programs write for a ticked box.
func parseAnswer(value string) (a shop.Answer, ok bool) {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "yes", "true":
		return shop.Yes, true
	case "no", "false":
		return shop.No, true
	}
	return shop.Unknown, value == ""
}

func setPublished(row *shop.ProfileRow, value string) string {
	answer, _ := parseAnswer(value)
	if answer == shop.Unknown {
		return "must be yes or no, and cannot be removed"
	}
	row.Published = new(answer == shop.Yes)
	return ""
}

var (
	amounts = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	// decimalCommas matches amounts as they are written where the decimal separator is a comma. 1,000 is none, because it
	// could also mean a thousand.
	decimalCommas = regexp.MustCompile(`^[0-9]+,[0-9]{1,2}$`)
)

func setAmount(row *shop.ProfileRow, value string) string {
	amount := strings.TrimSpace(value)
	if decimalCommas.MatchString(amount) {
		amount = strings.Replace(amount, ",", ".", 1)
	}
	if amount != "" && !amounts.MatchString(amount) {
		return "must be an amount without a currency, such as 250.00, not " + quoteValue(value)
	}
	row.Amount = &amount
	return ""
}

// setTags splits the tags at commas, and ignores the spaces that people type after them.
func setTags(row *shop.ProfileRow, value string) string {
	var tags []string
	for tag := range strings.SplitSeq(value, ",") {
		if tag = strings.Trim(tag, " "); tag != "" {
			tags = append(tags, tag)
		}
	}
	row.Tags = &tags
	return ""
}

// profile parses the columns of the profile. An empty cell changes nothing, and a hyphen removes the member. An exported
// text that is a hyphen has an apostrophe before it.
func (c columns) profile(row *shop.ImportRow, field func(int) string) {
	row.ProfileETag = strings.TrimSpace(field(c.profileETag))
	for i, position := range c.profiles {
		cell := field(position)
		value := unescapeFormula(cell)
		switch strings.Trim(cell, " ") {
		case "":
			continue
		case "-":
			value = ""
		}
		if row.Profile == nil {
			row.Profile = &shop.ProfileRow{Columns: true}
		}
		if reason := profileColumns[i].set(row.Profile, value); reason != "" {
			row.Problems.Add(profileColumns[i].name, reason)
		}
	}
}

// ProfileWriter writes animals with their profiles.
type ProfileWriter struct {
	Internal bool   // whether to write the internal columns
	BaseURL  string // the beginning of the URLs of photos
}

// AppendHeader appends the header line, which names the columns.
func (w ProfileWriter) AppendHeader(to []byte) []byte {
	names := Columns()
	for _, column := range profileColumns {
		if !column.internal {
			names = append(names, column.name)
		}
	}
	names = append(names, photoColumn)
	for _, column := range profileColumns {
		if column.internal && w.Internal {
			names = append(names, column.name)
		}
	}
	if w.Internal {
		names = append(names, profileETagColumn)
	}
	return append(append(to, strings.Join(names, ",")...), "\r\n"...)
}

// Append appends the lines for one animal and its profile.
func (w ProfileWriter) Append(to []byte, row shop.ExportRow) []byte {
	to = appendPet(to, row)
	cells := func(internal bool) {
		for _, column := range profileColumns {
			if column.internal == internal {
				to = appendQuoted(append(to, ','), escapeFormula(column.cell(*row.Profile)))
			}
		}
	}
	cells(false)
	to = append(to, ',')
	if len(row.Profile.Photos) > 0 {
		to = appendQuoted(to, w.BaseURL+row.Profile.Photos[0].URL(shop.LargePhoto))
	}
	if w.Internal {
		cells(true)
		to = appendQuoted(append(to, ','), row.ProfileETag)
	}
	return append(to, "\r\n"...)
}
