package httpapi

import (
	"crypto/rand"
	"strings"
	"sync/atomic"
)

// requestIDs gives each request a name that no other has, on any node: a random beginning for each process, and a number.
type requestIDs struct {
	beginning string
	last      atomic.Uint64
}

func newRequestIDs() *requestIDs {
	return &requestIDs{beginning: strings.ToLower(rand.Text()[:16])} // 80 bits
}

func (r *requestIDs) next() string {
	const digits = "abcdefghijklmnopqrstuvwxyz234567"
	n := r.last.Add(1)
	var end [10]byte // 50 bits: a million a second for 35 years
	for i := len(end) - 1; i >= 0; i-- {
		end[i] = digits[n%32]
		n /= 32
	}
	return r.beginning + string(end[:])
}
