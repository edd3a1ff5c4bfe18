package shop

import (
	"math/rand/v2"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// A search ignores letter case and diacritics for all of Unicode, whether a text uses composed or decomposed
// characters.
func TestSearchIgnoresCaseAndDiacritics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, query string
		found       bool
	}{
		{"Bella Bengal", "bengal bella", true},
		{"Bella Bengal", "xy bengal", false},
		{"Bella Bengal", "gal el", true},
		{"Zoë Ångström", "ZOE angstrom", true},
		{"zoe angstrom", "Zoë Ångström", true},
		{"Straße", "STRASSE", true},
		{"ΟΔΥΣΣΕΎΣ", "οδυσσευς", true},
		{"İstanbul", "istanbul", true},
		{"Ёжик", "ежик", true},
		{"Søren Łódź", "soren lodz", true},
		{"مُحَمَّد", "محمد", true},
		{"한국", "하", false}, // 하 is a syllable of its own, not a part of 한
		{"한국", "국", true},
		{"กิน", "กน", false}, // the missing mark is a vowel, not a diacritic
		{"❤️ Rex 🐶", "❤ 🐶", true},
		{"Rex", "\u0301", true}, // folding leaves nothing of this word
		{"Rex", "%", false},
		{`Re"x*`, `"x*`, true},
	} {
		if found := ContainsWords(c.name, SearchWords(c.query)); found != c.found {
			t.Errorf("%q in %q: got %v, want %v", c.query, c.name, found, c.found)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		folded := FoldSearch(text)
		for _, same := range []string{folded, norm.NFC.String(text), norm.NFD.String(text)} {
			if got := FoldSearch(same); got != folded {
				t.Errorf("%q is folded to %q, but %q to %q", text, folded, same, got)
			}
		}
	})
}

// Folding a text letter by letter has the same result as folding it as a whole, for all letters and their neighbours.
func TestLettersAreFoldedLikeTexts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var letters []rune
	for r := range rune(unicode.MaxRune) {
		// Most letters of these two scripts are alike.
		if many := unicode.In(r, unicode.Han, unicode.Hangul) && r%64 > 0; !many && unicode.IsGraphic(r) {
			letters = append(letters, r)
		}
	}
	for _, r := range letters {
		text := []rune{r}
		for range 4 {
			text = append(text, letters[random.IntN(len(letters))])
		}
		text = append(text, r, r, 'ᄒ', 'ᅡ', r, 'ᆫ', 'ß', '́', r)
		for length := 1; length <= len(text); length += 3 {
			if s := string(text[:length]); FoldSearch(s) != foldText(s) {
				t.Fatalf("%q is folded to %q, want %q", s, FoldSearch(s), foldText(s))
			}
		}
	}
}
