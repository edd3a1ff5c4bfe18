package shop

import (
	"crypto/sha256"
	"encoding/hex"
)

// EntityTag derives an entity tag from content and returns it in quotes, as it appears in HTTP headers. The tag
// depends on the content alone, so it is the same on every node and after a restart.
func EntityTag(content []byte) string {
	hash := sha256.Sum256(content)
	return `"` + hex.EncodeToString(hash[:16]) + `"`
}

// ETag returns the animal's entity tag, which changes whenever the animal changes. Every response that contains
// only this animal has this tag.
func (p Pet) ETag() string { return EntityTag(p.AppendJSON(make([]byte, 0, 128))) }
