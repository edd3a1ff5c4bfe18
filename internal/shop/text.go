package shop

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxText is how many characters (code points) any text of a client may have.
const MaxText = 200

// TextProblem says what is wrong with a text that a client sent, or "" where nothing is. One rule holds for every
// text in the shop, so that every engine stores and finds the same.
func TextProblem(s string) string {
	if !utf8.ValidString(s) {
		return "must be valid UTF-8"
	}
	if n := utf8.RuneCountInString(s); n < 1 || n > MaxText {
		return fmt.Sprintf("must have 1 to %d characters, not %d", MaxText, n)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return "must not have control characters (U+0000 to U+001F, U+007F)"
	}
	if strings.Trim(s, " ") == "" {
		return "must have at least one character that is not a space"
	}
	return ""
}

// appendQuoted writes a text as a string of JSON. The text is valid UTF-8, as all that the shop takes in.
func appendQuoted(to []byte, s string) []byte {
	const hex = "0123456789abcdef"
	const short = "btn\x00fr" // of those from U+0008 on
	to = append(to, '"')
	done := 0
	for i := range len(s) {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		to = append(append(to, s[done:i]...), '\\')
		switch n := int(b) - '\b'; {
		case b >= ' ':
			to = append(to, b)
		case n >= 0 && n < len(short) && short[n] != 0:
			to = append(to, short[n])
		default:
			to = append(to, 'u', '0', '0', hex[b>>4], hex[b&15])
		}
		done = i + 1
	}
	return append(append(to, s[done:]...), '"')
}

// joinWords lists words for people.
func joinWords[T ~string](words []T, separator string) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, separator)
}

// anyOf says what there is to choose from.
func anyOf[T ~string](choices []T) string {
	if len(choices) == 0 {
		return "stays as it is"
	}
	return "only " + joinWords(choices, " or ")
}

// Fold maps texts that differ only in letter case to the same text. It folds rune by rune as strings.EqualFold does,
// for all of Unicode; the engines' own functions fold ASCII alone, or by locale.
func Fold(s string) string {
	return strings.Map(foldRune, s)
}

// foldRune picks the smallest of the runes that are equal but for case.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf { // the same, at once
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
