package web

import "math/rand/v2"

// NewRequestID returns a random id that is unique across all nodes. It is not a secret.
func NewRequestID() string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	var id [26]byte
	var random uint64
	for i := range id {
		if i%12 == 0 { // 64 bits are enough for 12 characters of 5 bits
			random = rand.Uint64()
		}
		id[i] = alphabet[random%32]
		random /= 32
	}
	return string(id[:])
}
