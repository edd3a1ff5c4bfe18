package shop

import (
	"regexp"
	"strings"
	"testing"
)

func TestNewSecretsAreWellFormed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for environment, word := range map[Environment]string{Production: "live", Staging: "test"} {
		form := regexp.MustCompile(`^ask_` + word + `_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}$`)
		for range 1000 {
			secret := newSecret(environment)
			if !form.MatchString(secret) || seen[secret] || !wellFormed(secret, environment) {
				t.Fatalf("%s is not a new secret of %s", secret, environment)
			}
			seen[secret] = true
		}
	}
}

// The checksum algorithm must never change, because keys that have already been issued must keep working.
func TestChecksumIsFixed(t *testing.T) {
	t.Parallel()
	const secret = "ask_live_000000000000000000000000000000_2j6gTR"
	if got := checksum(secret[:39]); !strings.HasSuffix(secret, "_"+got) {
		t.Errorf("the checksum is %s", got)
	}
}

func TestMistypedSecretsAreRefused(t *testing.T) {
	t.Parallel()
	secret := newSecret(Production)
	for i := range len(secret) {
		for _, c := range base62 + "_-" {
			if mistyped := secret[:i] + string(c) + secret[i+1:]; mistyped != secret && wellFormed(mistyped, Production) {
				t.Errorf("%s passes for %s", mistyped, secret)
			}
		}
	}
	for _, wrong := range []string{"", "ask_live_", secret[:45], secret + "0", " " + secret, newSecret(Staging), strings.Repeat("_", 46)} {
		if wellFormed(wrong, Production) {
			t.Errorf("%q passes for a secret", wrong)
		}
	}
}

// All characters are equally likely to occur in a secret.
func TestSecretsAreUniform(t *testing.T) {
	t.Parallel()
	const n = 62 * 10000
	counts := map[rune]int{}
	for _, c := range randomBase62(n) {
		counts[c]++
	}
	for _, c := range base62 {
		if counts[c] < 9000 || counts[c] > 11000 { // the limits are ten standard deviations from the mean
			t.Errorf("%q occurs %d times in %d", c, counts[c], n)
		}
	}
}

// FuzzSecret checks that every well-formed secret is redacted and belongs to only one environment.
func FuzzSecret(f *testing.F) {
	secret := newSecret(Production)
	for _, text := range []string{"", "ask_live_", secret, newSecret(Staging), secret + "x", secret[:40] + "000000"} {
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
