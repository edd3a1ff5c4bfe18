package petcsv

import (
	"regexp"
	"strings"
)

// vocabulary maps folded words to the values that they mean.
type vocabulary map[string]string

// newVocabulary makes a vocabulary from the words for each value. Every value also means itself.
func newVocabulary(words map[string]string) vocabulary {
	v := vocabulary{}
	for value, list := range words {
		v[fold(value)] = value
		for word := range strings.SplitSeq(list, ", ") {
			v[fold(word)] = value
		}
	}
	return v
}

// The words that people write in the columns with a fixed choice, in English and some other languages.
var (
	answerWords = newVocabulary(map[string]string{
		"yes": "y, true, 1, x, ja, j, wahr, oui, o, vrai, sí, verdadero",
		"no":  "n, false, 0, nein, falsch, non, faux, falso",
	})
	sexWords = newVocabulary(map[string]string{
		"female": "f, w, girl, weiblich, Weibchen, femelle, hembra",
		"male":   "m, boy, männlich, Männchen, mâle, macho",
	})
	sizeWords = newVocabulary(map[string]string{
		"small":       "s, klein, petit, pequeño",
		"medium":      "m, med, mittel, mittelgroß, moyen, mediano",
		"large":       "l, big, groß, grand, grande",
		"extra-large": "xl, x-large, very large, giant, sehr groß, très grand, muy grande",
	})
	statusWords = newVocabulary(map[string]string{
		"available": "adoptable, for sale, for adoption, up for adoption, ready for adoption, in stock, ready, free, verfügbar, frei, zu verkaufen, zu vermitteln, disponible, à vendre",
		"pending":   "reserved, on hold, hold, booked, adoption pending, reserviert, vorgemerkt, réservé, reservado",
		"sold":      "adopted, rehomed, homed, verkauft, vermittelt, adoptiert, vendu, adopté, vendido, adoptado",
	})
	unknownWords = newVocabulary(map[string]string{"": "unknown, unk, not known, n/a, none, unbekannt, keine Angabe, k. A., keine, inconnu, desconocido"})
)

// find returns the value that a cell means. known is false if the word is not in the vocabulary.
func (v vocabulary) find(cell string) (value string, known bool) {
	if strings.ContainsAny(cell, "✓✔☑") {
		cell = "x"
	}
	value, known = v[fold(cell)]
	return value, known
}

// saysNothing reports whether a cell with a date, an amount or a choice means that nothing is known, such as ? or n/a.
func saysNothing(cell string) bool {
	if strings.ContainsAny(cell, "✓✔☑") {
		return false
	}
	key := fold(cell)
	_, unknown := unknownWords[key]
	return unknown || key == ""
}

var (
	wholeNumbers = regexp.MustCompile(`^([0-9]+)[.,]0+$`)
	rounded      = regexp.MustCompile(`^[0-9]([.,][0-9]+)?[eE]\+[0-9]+$`)
	chipSpaces   = strings.NewReplacer(" ", "", "\u00a0", "", "-", "", ".", "", "/", "", `="`, "", `"`, "")
)

// readChip returns the number of a microchip without the signs between its digits. ok is false if a spreadsheet program
// has rounded it, as in 9.85E+14.
func readChip(cell string) (chip string, ok bool) {
	chip = strings.TrimSpace(cell)
	if rounded.MatchString(chip) {
		return "", false
	}
	return chipSpaces.Replace(wholeNumbers.ReplaceAllString(chip, "$1")), true
}

// readContact completes an address as people write it: www.example.com or anna@example.com.
func readContact(cell string) string {
	address := strings.TrimSpace(cell)
	switch {
	case strings.HasPrefix(address, "www."):
		return "https://" + address
	case strings.Contains(address, "@") && !strings.Contains(address, ":"):
		return "mailto:" + address
	}
	return address
}

// tagSeparators are the signs that people write between tags.
var tagSeparators = strings.NewReplacer(";", ",", "|", ",", "\n", ",")

// oneLine returns the words of a cell on one line.
func oneLine(cell string) string { return strings.Join(strings.Fields(cell), " ") }
