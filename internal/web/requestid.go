package web

import "math/rand/v2"

// NewRequestID returns a random id that is unique across all nodes. It is not a secret.
func NewRequestID() string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	id := make([]byte, 26)
	for i := range id {
		id[i] = alphabet[rand.Uint32N(uint32(len(alphabet)))]
	}
	return string(id)
}
