package shop

import (
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// FoldSearch maps texts that differ only in letter case or diacritics to the same text, for all of Unicode. Both
// database engines search in texts that FoldSearch has folded, because their own functions handle only ASCII or
// depend on the locale.
func FoldSearch(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	changed := strings.IndexFunc(s, func(r rune) bool { return foldedLetter(r) != r || r == utf8.RuneError })
	if changed < 0 {
		return s
	}
	folded := append(make([]byte, 0, len(s)), s[:changed]...)
	for _, r := range s[changed:] {
		switch to := foldedLetter(r); to {
		case foldsInContext:
			return foldText(s)
		case foldsToSeveral:
			several, _ := foldedLetters.several.Load(r)
			folded = append(folded, several.(string)...)
		default:
			folded = utf8.AppendRune(folded, to)
		}
	}
	return string(folded)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foldText folds a text. FoldSearch uses it only where letters depend on their neighbours, because it takes up to a hundred
// times as long, and a search may have to fold tens of thousands of texts.
func foldText(s string) string {
	plain := strings.Map(func(r rune) rune {
		if isDiacritic(r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))
	// cases.Fold replaces some letters, such as ß, with several letters. Fold then maps the letters that differ only in
	// case to one of them. Composing the text again joins the Hangul syllables that NFD has split, so that a search
	// does not find parts of a syllable.
	return norm.NFC.String(strings.Map(withoutStroke, Fold(cases.Fold().String(plain))))
}

// isDiacritic reports whether r is a mark that a search ignores. The vowel signs of Indic and Thai letters are marks,
// too, but have the combining class 0. A search does not ignore them, because a word without them is a different
// word.
func isDiacritic(r rune) bool {
	return unicode.Is(unicode.Mn, r) && (norm.NFD.PropertiesString(string(r)).CCC() != 0 || unicode.Is(unicode.Variation_Selector, r))
}

// withoutStroke removes the stroke from letters such as Ø, which Unicode does not decompose into a letter and a mark.
// It also replaces U+0345, the mark to which Fold maps the letter iota, with that letter.
func withoutStroke(r rune) rune {
	switch r {
	case '\u0345':
		return 'Ι'
	case 'Ø':
		return 'O'
	case 'Ł':
		return 'L'
	case 'Đ':
		return 'D'
	case 'Ħ':
		return 'H'
	case 'Ŧ':
		return 'T'
	}
	return r
}

// foldedLetters contains the folded form of each letter that has been folded so far.
var foldedLetters struct {
	// single contains one of the values below, or the letter to which a letter is folded plus 1. Only the parts of this
	// large array that are used take up memory.
	single  [unicode.MaxRune + 1]atomic.Int32
	several sync.Map // the strings for the letters that are folded to several letters
}

const (
	foldsInContext rune = -1 // the letter depends on its neighbours
	foldsToSeveral rune = -2 // the letter is folded to several letters
)

// foldedLetter returns the letter to which r is folded, or one of the constants above.
func foldedLetter(r rune) rune {
	known := &foldedLetters.single[r]
	switch to := known.Load(); {
	case to > 0:
		return to - 1
	case to < 0:
		return to
	}
	to := foldsInContext
	if folded := foldText(string(r)); beginsAlone(norm.NFD.String(string(r))) && beginsAlone(folded) {
		first, size := utf8.DecodeRuneInString(folded)
		if to = first; size < len(folded) {
			foldedLetters.several.Store(r, folded)
			to = foldsToSeveral
		}
	}
	if to < 0 {
		known.Store(to)
	} else {
		known.Store(to + 1)
	}
	return to
}

// beginsAlone reports whether the first letter of a text never changes or moves because of the letters before it.
func beginsAlone(s string) bool { return s != "" && norm.NFC.PropertiesString(s).BoundaryBefore() }
