package shop

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Every secret is new, and all characters are equally likely to occur in it.
func TestNewSecretsAreWellFormed(t *testing.T) {
	t.Parallel()
	seen, counts := map[string]bool{}, map[rune]int{}
	for environment, word := range map[Environment]string{Production: "live", Staging: "test"} {
		form := regexp.MustCompile(`^ask_` + word + `_[0-9A-Za-z]{30}_[0-9A-Za-z]{6}$`)
		for range 10_000 {
			secret := newSecret(environment)
			if !form.MatchString(secret) || seen[secret] || !wellFormed(secret, environment) {
				t.Fatalf("%s is not a new secret of %s", secret, environment)
			}
			seen[secret] = true
			for _, c := range secret[9:39] {
				counts[c]++
			}
		}
	}
	for _, c := range base62 {
		if counts[c] < 8600 || counts[c] > 10_700 { // the limits are ten standard deviations from the mean, 9677
			t.Errorf("%q occurs %d times in 600,000 characters", c, counts[c])
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
	for _, wrong := range []string{"", secret[:45], secret + "0", " " + secret, newSecret(Staging), strings.Repeat("_", 46)} {
		if wellFormed(wrong, Production) {
			t.Errorf("%q passes for a secret", wrong)
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

// A known key is cached for less than a second. An unknown key is never cached.
func TestKeyCacheForgetsWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := newKeyCache()
		hash := HashSecret("secret")
		var stored, known, broken = Credential{Key: Key{ID: 7}}, false, false
		lookUps := 0
		find := func() (Credential, bool, error) {
			return cache.find(hash, func() (Credential, bool, error) {
				lookUps++
				if broken {
					return Credential{}, false, errors.New("unavailable")
				}
				return stored, known, nil
			})
		}
		want := func(what string, wantFound bool, wantLookUps int) {
			t.Helper()
			_, found, err := find()
			if err != nil || found != wantFound || lookUps != wantLookUps {
				t.Errorf("%s: found %v after %d look-ups (%v), want %v after %d", what, found, lookUps, err, wantFound, wantLookUps)
			}
		}
		want("an unknown key", false, 1)
		known = true
		want("a new key", true, 2)
		want("a cached key", true, 2)
		broken = true
		want("a cached key, while the store is unavailable", true, 2)
		time.Sleep(time.Second)
		if _, _, err := find(); err == nil {
			t.Error("a cached key was used for a second")
		}
		broken, known = false, false
		want("a key revoked a second ago", false, 4)
		if len(cache.entries) != 0 {
			t.Error("a revoked key is still cached")
		}
	})
}

// Keys that were used once and then rotated or revoked do not fill the cache.
func TestKeyCacheIsBounded(t *testing.T) {
	t.Parallel()
	cache := newKeyCache()
	for n := range 2*maxCachedKeys + 1 {
		_, found, err := cache.find(HashSecret(strconv.Itoa(n)), func() (Credential, bool, error) { return Credential{}, true, nil })
		if !found || err != nil {
			t.Fatalf("key %d: found %v, %v", n, found, err)
		}
	}
	if n := len(cache.entries); n > maxCachedKeys {
		t.Errorf("the cache has %d keys, want at most %d", n, maxCachedKeys)
	}
}
