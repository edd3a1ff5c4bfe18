package shop

import (
	"encoding/json"
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

// Two characters fold to the same text if and only if they differ only in case. Stored texts rely on the result,
// which is the least of these characters.
func TestFold(t *testing.T) {
	t.Parallel()
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if other := unicode.SimpleFold(r); Fold(string(r)) != Fold(string(other)) {
			t.Errorf("%q and %q differ only in case but fold differently", r, other)
		}
		if folded := Fold(string(r)); !strings.EqualFold(folded, string(r)) || folded > string(r) {
			t.Errorf("%q folds to another character or not to the least one, %q", r, folded)
		}
	}
}

// FuzzText checks that accepted texts are short and contain no ASCII control characters. It also checks that
// case folding and JSON encoding are correct for any text.
func FuzzText(f *testing.F) {
	for _, text := range []string{
		"", " ", "Rex", "a\x00", "a\n", "\x7f", "\xff", strings.Repeat("é", 200), strings.Repeat("é", 201), "\u202e", "\u2028", "<b>", `a"b\c`,
		"ZkKsſAz[`{@",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if folded := Fold(text); !strings.EqualFold(folded, text) || Fold(folded) != folded {
			t.Fatalf("%q folds to %q", text, folded)
		}
		pet := Pet{ID: -7, Name: strings.ToValidUTF8(text, "?"), Status: Sold}
		data := eventData(pet, nil)
		var read struct{ Current, Previous *Pet }
		if err := json.Unmarshal(data, &read); err != nil || *read.Current != pet || read.Previous != nil {
			t.Fatalf("%q is encoded as %s: %v", text, data, err)
		}
		if TextProblem(text) != "" {
			return
		}
		control := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
		if n := len([]rune(text)); n < 1 || n > 200 || strings.Trim(text, " ") == "" || control {
			t.Fatalf("%q is accepted", text)
		}
	})
}
