package shop

import (
	"strings"
	"testing"
	"unicode"
)

func TestTextProblem(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"R": true, " R ": true, "\u00a0": true, "\u0080": true, "\u2028": true, strings.Repeat("é", 200): true,
		"": false, " ": false, strings.Repeat(" ", 200): false, strings.Repeat("é", 201): false,
		"\x00": false, "a\nb": false, "a\tb": false, "a\x1f": false, "a\x7f": false, "\xff": false, "a\xc3": false,
	} {
		if problem := TextProblem(text); (problem == "") != ok {
			t.Errorf("%q: %q", text, problem)
		}
	}
}

// Two letters fold to the same text if and only if they differ only in case.
func TestFold(t *testing.T) {
	t.Parallel()
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if !unicode.Is(unicode.L, r) {
			continue
		}
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if Fold(string(r)) != Fold(string(other)) {
				t.Errorf("%q and %q differ only in case but fold differently", r, other)
			}
		}
		if !strings.EqualFold(Fold(string(r)), string(r)) {
			t.Errorf("%q folds to another letter, %q", r, Fold(string(r)))
		}
	}
}
