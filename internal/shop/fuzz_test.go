package shop

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// FuzzSecret checks that every well-formed secret is redacted and belongs to only one environment.
func FuzzSecret(f *testing.F) {
	for _, text := range []string{"", "ask_live_", newSecret(Production), newSecret(Staging), newSecret(Production) + "x", "ask_live_" + strings.Repeat("0", 30) + "_000000"} {
		f.Add(text)
	}
	s := &Service{configuredText: "the-operators-own-key"}
	f.Fuzz(func(t *testing.T, text string) {
		live, test := wellFormed(text, Production), wellFormed(text, Staging)
		if live && test {
			t.Fatalf("%q is a secret of both environments", text)
		}
		shown := s.Redact("before " + text + " after the-operators-own-key.")
		if live && strings.Contains(shown, text[9:39]) || strings.Contains(shown, "the-operators-own-key") {
			t.Fatalf("%q is shown as %q", text, shown)
		}
	})
}

// FuzzText checks that accepted texts are short and contain no ASCII control characters. It also checks that
// case folding and JSON encoding are correct for any text.
func FuzzText(f *testing.F) {
	for _, text := range []string{"", " ", "Rex", "a\x00", "a\n", "\x7f", "\xff", strings.Repeat("é", 200), strings.Repeat("é", 201), "\u202e", "\u2028", "<b>", `a"b\c`, "ZkKsſAz[`{@"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if foldRunes(text) != Fold(text) {
			t.Fatalf("%q folds to %q", text, Fold(text))
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
		if n := len([]rune(text)); n < 1 || n > 200 || strings.Trim(text, " ") == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("%q is accepted", text)
		}
	})
}

// foldRunes does the same as Fold, but without the shortcut for ASCII.
func foldRunes(text string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, text)
}
