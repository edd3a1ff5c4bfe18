package shop

import (
	"crypto/sha256"
	"encoding/hex"
)

// EntityTag returns the entity tag for a content, in quotes, as HTTP headers need it. It depends on the content
// alone, so it is the same after a restart and on every node.
func EntityTag(content []byte) string {
	hash := sha256.Sum256(content)
	return `"` + hex.EncodeToString(hash[:16]) + `"`
}

// ETag returns the animal's entity tag. It changes whenever the animal changes.
func (p Pet) ETag() string { return EntityTag(p.AppendJSON(make([]byte, 0, 128))) }
