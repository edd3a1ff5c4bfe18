package shop

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"hash/crc32"
	"regexp"
	"strings"
)

// The secret of a key consists of the prefix for the environment, 30 random characters, "_" and a checksum.
// The checksum has 6 characters and covers everything before the "_". The prefix lets secret scanners find
// leaked secrets. The checksum lets the service reject mistyped secrets without a query.
const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	randomLength = 30
	sumLength    = 6
)

func newSecret(e Environment) string {
	start := e.keyPrefix() + randomBase62(randomLength)
	return start + "_" + checksum(start)
}

func (e Environment) keyPrefix() string {
	if e == Staging {
		return "ask_test_"
	}
	return "ask_live_"
}

// wellFormed reports whether a text has the form of a secret for the given environment.
func wellFormed(secret string, e Environment) bool {
	rest, ok := strings.CutPrefix(secret, e.keyPrefix())
	if !ok || len(rest) != randomLength+1+sumLength || rest[randomLength] != '_' {
		return false
	}
	start := secret[:len(secret)-1-sumLength]
	return secret[len(secret)-sumLength:] == checksum(start)
}

func checksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	var text [sumLength]byte
	for i := sumLength - 1; i >= 0; i-- {
		text[i] = base62[sum%62]
		sum /= 62
	}
	return string(text[:])
}

func randomBase62(n int) string {
	text := make([]byte, 0, n)
	var source [64]byte
	for {
		rand.Read(source[:])
		for _, b := range source {
			if b >= 4*62 { // skip these values, because they would make the first characters more likely than the others
				continue
			}
			if text = append(text, base62[b%62]); len(text) == n {
				return string(text)
			}
		}
	}
}

// SecretHash is the only form in which the secret of a key is stored. A fast hash is sufficient, because a
// secret has 178 bits of entropy and therefore cannot be guessed.
type SecretHash [sha256.Size]byte

// HashSecret returns the hash under which a secret is stored.
func HashSecret(secret string) SecretHash { return sha256.Sum256([]byte(secret)) }

// hint returns the last four characters of a secret, by which people can recognise the secret.
func hint(secret string) string { return secret[len(secret)-4:] }

// secretPattern matches anything that looks like a complete or truncated secret.
var secretPattern = regexp.MustCompile(`ask_(live|test)_[0-9A-Za-z_]+`)

// signInPattern matches anything that looks like a complete or truncated token of a sign-in link.
var signInPattern = regexp.MustCompile(signInPrefix + `[0-9A-Z]+`)

// Redact replaces all API keys and tokens of sign-in links in a text so that the text can be shown or logged.
func (s *Service) Redact(text string) string {
	if s.configuredText != "" {
		text = strings.ReplaceAll(text, s.configuredText, "REDACTED")
	}
	if strings.Contains(text, "ask_") {
		text = secretPattern.ReplaceAllString(text, "ask_${1}_REDACTED")
	}
	if strings.Contains(text, signInPrefix) {
		text = signInPattern.ReplaceAllString(text, signInPrefix+"REDACTED")
	}
	return text
}

// newWebhookSecret returns a random secret in the format defined by Standard Webhooks.
func newWebhookSecret() string {
	secret := make([]byte, 32)
	rand.Read(secret)
	return "whsec_" + base64.StdEncoding.EncodeToString(secret)
}
