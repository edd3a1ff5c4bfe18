package petcsv

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Ignore is the field of a column that is not imported.
const Ignore = "ignore"

// ReasonsTitle is the title of the column that says what to correct in rows that were left out.
const ReasonsTitle = "Please correct"

// knownTitles are titles that people give to columns, besides the names that Columns and profileColumns have. If several
// columns of a file fit a field, the one whose title comes first here is matched. Letter case, accents, spaces and
// punctuation do not matter, nor does the word animal or pet at the beginning.
var knownTitles = []struct{ field, titles string }{
	{"name", "animal, pet, nickname, Tiername, Rufname, nom, nombre"},
	{"category", "species, kind, type, Tierart, Art, Gattung, Kategorie, espèce, especie"},
	{"status", "state, availability, adoption status, current status, Verfügbarkeit, statut, estado"},
	{"breed", "breed 1, primary breed, breed name, breeds, Rasse, race, raza"},
	{"secondBreed", "breed 2, secondary breed, 2nd breed, Zweitrasse, zweite Rasse"},
	{"mixed", "mix, mixed breed, crossbreed, cross, Mischling"},
	{"sex", "gender, m/f, f/m, Geschlecht, sexe, sexo"},
	{"birthDate", "date of birth, DOB, born, born on, birthday, Geburtsdatum, geboren, geboren am, Geburtstag, date de naissance, fecha de nacimiento"},
	{"birthDateEstimated", "DOB estimated, estimated DOB, DOB is estimated, Geburtsdatum geschätzt"},
	{"size", "Größe, taille, tamaño"},
	{"color", "colour, base colour, primary color, coat, coat color, Farbe, Fellfarbe, couleur"},
	{"price", "fee, adoption fee, sale price, selling price, cost, Preis, Verkaufspreis, Schutzgebühr, prix, precio"},
	{"currency", "Währung, devise, moneda"},
	{"arrivalDate", "arrived, arrived on, arrival, intake date, date in, entry date, date brought in, Ankunft, Eingang, Eingangsdatum, Aufnahmedatum"},
	{"description", "about, biography, bio, details, web description, Beschreibung, Beschreibungstext, descripción"},
	{"published", "online, show online, on website, web, veröffentlicht"},
	{"neutered", "spayed, spayed/neutered, neutered/spayed, altered, fixed, desexed, castrated, sterilised, kastriert, sterilisiert, castré, stérilisé"},
	{"vaccinated", "vaccinations, shots, shots current, geimpft, vacciné"},
	{"houseTrained", "housebroken, potty trained, stubenrein"},
	{"specialNeeds", "special need, besondere Bedürfnisse"},
	{"goodWithDogs", "dogs, dogs ok, ok with dogs, verträglich mit Hunden, Hunde"},
	{"goodWithCats", "cats, cats ok, ok with cats, verträglich mit Katzen, Katzen"},
	{"goodWithChildren", "good with kids, kids, children, ok with kids, kinderlieb, verträglich mit Kindern, Kinder"},
	{"tags", "tag, keywords, labels, Schlagworte"},
	{"contactUrl", "contact, contact e-mail, link, Kontakt"},
	{"microchip", "chip, chip number, chip no., microchip number, microchip no., Chipnummer, Chip-Nr., Transponder, Transpondernummer, puce"},
	{"location", "cage, kennel, pen, room, enclosure, unit, Zwinger, Käfig, Gehege, Standort"},
	{"notes", "note, comments, comment, remarks, internal notes, hidden details, Notizen, Bemerkung, Bemerkungen, Anmerkungen"},
	{Ignore, ReasonsTitle + ", " + photoColumn},
}

// fieldNames are the fields that a column can be matched to, in the order of a file with profiles.
var fieldNames = func() []string {
	names := Columns()
	for _, column := range profileColumns {
		names = append(names, column.name)
	}
	return append(names, profileETagColumn)
}()

// Fields returns the fields that a column can be matched to, except for Ignore.
func Fields() []string { return slices.Clone(fieldNames) }

// rankedField is the field that a title means. Of several columns for a field, the one with the lowest rank is matched.
type rankedField struct {
	field string
	rank  int
}

// fieldsByTitle contains all known titles, folded.
var fieldsByTitle = func() map[string]rankedField {
	fields := map[string]rankedField{}
	for _, name := range fieldNames {
		fields[fold(name)] = rankedField{name, 0}
	}
	for _, known := range knownTitles {
		for i, title := range strings.Split(known.titles, ", ") {
			fields[fold(title)] = rankedField{known.field, i + 1}
		}
	}
	return fields
}()

// fold returns the letters and digits of a text in lower case and without accents.
func fold(text string) string {
	var folded strings.Builder
	for _, r := range norm.NFKD.String(text) {
		switch {
		case r == 'ß':
			folded.WriteString("ss")
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			folded.WriteRune(unicode.ToLower(r))
		}
	}
	return folded.String()
}

// fieldOf returns the field that a title means. found is false if the title is not known.
func fieldOf(title string) (field rankedField, found bool) {
	key := fold(title)
	if field, found = fieldsByTitle[key]; found {
		return field, true
	}
	for _, prefix := range []string{"animal", "pet"} {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			field, found = fieldsByTitle[rest]
			return field, found
		}
	}
	return rankedField{}, false
}

// match sets the field of each column whose title is known. A column with the title ID is matched only if the file also
// has the entity tags of an export. Other programs have ids of their own.
func match(columns []SheetColumn) {
	best := map[string]int{} // the index of the column that is matched to each field
	ranks := make([]int, len(columns))
	tagged := false
	for i := range columns {
		known, found := fieldOf(columns[i].Title)
		tagged = tagged || known.field == "etag" || known.field == profileETagColumn
		if !found {
			continue
		}
		ranks[i] = known.rank
		other, taken := best[known.field]
		switch {
		case known.field == Ignore:
			columns[i].Field = Ignore
			continue
		case taken && ranks[other] <= known.rank:
			continue
		case taken:
			columns[other].Field = ""
		}
		columns[i].Field, best[known.field] = known.field, i
	}
	if i, found := best["id"]; found && !tagged {
		columns[i].Field = ""
	}
}
