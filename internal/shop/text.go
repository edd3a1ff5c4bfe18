package shop

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// MaxText is the maximum number of code points in any text sent by a client.
const MaxText = 200

// TextProblem explains why a text sent by a client is invalid. It returns "" if the text is valid. All texts
// in the shop follow the same rule, which permits only texts that every database engine stores and compares
// in the same way.
func TextProblem(s string) string { return textProblem(s, MaxText) }

// textProblem is like TextProblem, for a text that may have the given number of code points.
func textProblem(s string, most int) string {
	if !utf8.ValidString(s) {
		return "must be valid UTF-8"
	}
	if n := utf8.RuneCountInString(s); n < 1 || n > most {
		return fmt.Sprintf("must have 1 to %d characters, not %d", most, n)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return "must not contain control characters (U+0000 to U+001F, U+007F)"
	}
	if strings.Trim(s, " ") == "" {
		return "must have at least one character that is not a space"
	}
	return ""
}

// unixLines returns a text with LF at the end of each line instead of CR LF.
func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// appendQuoted appends a text as a JSON string. The text must be valid UTF-8, which TextProblem ensures.
func appendQuoted(to []byte, s string) []byte {
	const hex = "0123456789abcdef"
	const short = "btn\x00fr" // the letters of the short escapes for U+0008 to U+000D; U+000B has none
	to = append(to, '"')
	copied := 0
	for i := range len(s) {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		to = append(append(to, s[copied:i]...), '\\')
		switch n := int(b) - '\b'; {
		case b >= ' ':
			to = append(to, b)
		case n >= 0 && n < len(short) && short[n] != 0:
			to = append(to, short[n])
		default:
			to = append(to, 'u', '0', '0', hex[b>>4], hex[b&15])
		}
		copied = i + 1
	}
	return append(append(to, s[copied:]...), '"')
}

func joinWords[T ~string](words []T, separator string) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, separator)
}

// allowedStatuses returns the part of an error message that says which statuses a resource can be given.
func allowedStatuses[T ~string](statuses []T) string {
	if len(statuses) == 0 {
		return "its status is final"
	}
	return "it can become " + joinWords(statuses, " or ")
}

// Fold maps texts that differ only in case to the same text. Like strings.EqualFold, it works rune by rune
// for all of Unicode. The shop does not leave this to the database engines, because they fold only ASCII or
// depend on the locale.
func Fold(s string) string {
	blocks := foldBlocks()
	return strings.Map(func(r rune) rune {
		if uint32(r)/foldBlock >= uint32(len(blocks)) {
			return r
		}
		if block := blocks[r/foldBlock]; block != nil {
			return block[r%foldBlock]
		}
		return r
	}, s)
}

// foldBlock is the number of runes in a block of foldBlocks.
const foldBlock = 256

// foldBlocks returns a table with the results of foldRune, in blocks of foldBlock runes. A block is nil if its runes
// have no case. The runes after the last block have no case either, because all runes with case are in the first two
// planes of Unicode. The table exists because a write folds its texts while all other writes are waiting, and searching
// the tables of package unicode for every rune took up a fifth of the time of an import.
var foldBlocks = sync.OnceValue(func() (blocks []*[foldBlock]rune) {
	for r := range rune(0x20000) {
		if foldRune(r) == r {
			continue
		}
		n := int(r / foldBlock)
		for len(blocks) <= n {
			blocks = append(blocks, nil)
		}
		if blocks[n] == nil {
			blocks[n] = new([foldBlock]rune)
			for i := range blocks[n] {
				blocks[n][i] = foldRune(rune(n*foldBlock + i))
			}
		}
	}
	return blocks
})

// foldRune returns the smallest rune that differs from r only in case.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
