package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"animalstore/internal/shop"
)

// entityTag derives an entity tag from the content alone. The tag is therefore the same on every node and
// after a restart.
func entityTag(content []byte) string {
	hash := sha256.Sum256(content)
	return `"` + hex.EncodeToString(hash[:16]) + `"`
}

// resourceTag returns the entity tag for a single resource.
func resourceTag[T any](resource T) string { return entityTag(encode(resource)) }

// ifMatch returns the precondition that the If-Match header expresses, or nil if the header is missing.
func ifMatch[T any](x *exchange) shop.Precondition[T] {
	fields := x.r.Header.Values("If-Match")
	if len(fields) == 0 {
		return nil
	}
	return func(resource T) bool { return matchesTag(fields, resourceTag(resource), false) }
}

// matchesTag reports whether the values of an If-Match or If-None-Match header contain the tag or "*".
// Weak comparison, which If-None-Match requires, ignores W/ prefixes.
func matchesTag(fields []string, tag string, weak bool) bool {
	for _, field := range fields {
		for item := range strings.SplitSeq(field, ",") {
			item = strings.TrimSpace(item)
			if weak {
				item = strings.TrimPrefix(item, "W/")
			}
			if item == tag || item == "*" {
				return true
			}
		}
	}
	return false
}
