package web

import (
	"crypto/rand"
	"strings"
)

// NewRequestID returns a random id that no other request has, on any node.
func NewRequestID() string { return strings.ToLower(rand.Text()) }
