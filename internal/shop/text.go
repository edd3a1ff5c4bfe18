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

// joined lists words for people.
func joined[T ~string](words []T, separator string) string {
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
	return "only " + joined(choices, " or ")
}

// Fold maps texts that differ only in letter case to the same text. It folds rune by rune as strings.EqualFold does,
// for all of Unicode; the engines' own functions fold ASCII alone, or by locale.
func Fold(s string) string {
	return strings.Map(foldRune, s)
}

// foldRune picks the smallest of the runes that are equal but for case.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
