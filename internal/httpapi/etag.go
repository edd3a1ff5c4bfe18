package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"animalstore/internal/shop"
)

// entityTag names an answer by its content alone, so that the name holds on every node and after every restart.
func entityTag(parts ...[]byte) string {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(part)
	}
	return `"` + hex.EncodeToString(hash.Sum(nil)[:16]) + `"`
}

// resourceTag is the entity tag of one thing, answered alone.
func resourceTag[T any](thing T) string { return entityTag(encode(thing)) }

// ifMatch is the condition that a client puts on a thing by its entity tag; nil: none.
func ifMatch[T any](x *exchange) shop.Precondition[T] {
	fields := x.r.Header["If-Match"]
	if len(fields) == 0 {
		return nil
	}
	return func(thing T) bool { return matchesTag(fields, resourceTag(thing), false) }
}

// matchesTag tells whether a list of entity tags names this one. For a read, weak tags count too.
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
