package shop

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"regexp"
	"strings"
)

// A secret is PREFIX + 30 random characters + "_" + 6 characters of checksum over all before it. The prefix lets secret
// scanners find a leaked one; the checksum lets us refuse a mistyped one without asking the database.
const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	randomLength = 30
	sumLength    = 6
)

func newSecret(e Environment) string {
	start := e.keyPrefix() + randomBase62(randomLength)
	return start + "_" + checksum(start)
}

// wellFormed tells whether a text can be a secret of this environment.
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
			if b >= 4*62 { // what is above would make the first characters likelier
				continue
			}
			if text = append(text, base62[b%62]); len(text) == n {
				return string(text)
			}
		}
	}
}

// SecretHash is what is stored of a secret. A fast hash is enough: the secret has 178 bits from a cryptographic source,
// so there is nothing to guess.
type SecretHash [sha256.Size]byte

// HashSecret is the only way from a secret to what may be stored.
func HashSecret(secret string) SecretHash { return sha256.Sum256([]byte(secret)) }

// hint is what people recognise a secret by.
func hint(secret string) string { return secret[len(secret)-4:] }

// secretPattern finds what looks like a secret of ours, whole or cut short.
var secretPattern = regexp.MustCompile(`ask_(live|test)_[0-9A-Za-z_]+`)

// Redact takes every key out of a text that somebody put it into by mistake, so that the text may be shown or logged.
func (s *Service) Redact(text string) string {
	if s.configuredText != "" {
		text = strings.ReplaceAll(text, s.configuredText, "REDACTED")
	}
	if strings.Contains(text, "ask_") {
		text = secretPattern.ReplaceAllString(text, "ask_${1}_REDACTED")
	}
	return text
}
