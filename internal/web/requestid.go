package web

import (
	"crypto/rand"
	"strings"
)

// NewRequestID returns a random id that is unique across all nodes.
func NewRequestID() string { return strings.ToLower(rand.Text()) }
