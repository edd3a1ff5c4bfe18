package web

import (
	"time"

	"animalstore/internal/shop"
)

// The limits that the API and the staff pages share. The table of the memory budget in docs/operating.md adds
// up the memory that they allow.
const (
	// MaxImports is the maximum number of imports that a node accepts at the same time. MaxKeyImports is the maximum
	// for one API key. Each imported file is held in memory.
	MaxImports    = 3
	MaxKeyImports = 2
	// MaxExports is the maximum number of exports and printed lists that a node serves at the same time. MaxKeyExports
	// is the maximum for one API key. Each export reads the whole catalogue.
	MaxExports    = 8
	MaxKeyExports = 4
	// MaxBodyMemory is the maximum size in bytes of all request bodies that are being received and all responses that
	// have not been read yet. MaxKeyBodyMemory is the maximum for one API key.
	MaxBodyMemory    = 16 << 20
	MaxKeyBodyMemory = 4 << 20
	// smallBody is the size in bytes up to which a body does not count towards the limits for bodies.
	smallBody = 4 << 10
)

// MaxReplays is the maximum number of replays of past events that read from the store at the same time. Each API key
// may run only one at a time, so that one key cannot slow down the reads of others.
const MaxReplays = 2

// ResponseTimeout is how long a client may take to read a complete response. Handlers that take longer, such as
// streams, set deadlines of their own after WriteHeader.
const ResponseTimeout = 30 * time.Second

// unreadBodyTimeout is how long a connection stays open after the response if the request's body was not
// read.
const unreadBodyTimeout = time.Second

// Limits holds the limits that the API and the staff pages share.
type Limits struct {
	Imports *KeyLimit
	Exports *KeyLimit
	Replays *KeyTurns
	bodies  *KeyLimit
}

// NewLimits returns limits that are completely unused.
func NewLimits() *Limits {
	return &Limits{
		Imports: NewKeyLimit("imports", MaxImports, MaxKeyImports),
		Exports: NewKeyLimit("exports", MaxExports, MaxKeyExports),
		Replays: NewKeyTurns(MaxReplays),
		bodies:  NewKeyLimit("bytes of requests and unread responses", MaxBodyMemory, MaxKeyBodyMemory),
	}
}

// HoldBody counts the memory of a request body or a response until the caller calls release. It fails with
// rate_limited if this key uses too much and with unavailable if all keys together do. Small bodies, and bodies
// of requests without a key, do not count, because other limits suffice for them.
func (l *Limits) HoldBody(principal shop.Principal, size int64) (release func(), err error) {
	if size <= smallBody || principal.Actor() == "" {
		return func() {}, nil
	}
	return l.bodies.AcquireN(principal, int(size))
}
