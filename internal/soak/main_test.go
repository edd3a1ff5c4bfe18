// Package soak runs the whole service under load for as long as you like, injects faults, and checks
// afterwards that no acknowledged write is lost or duplicated. Without the environment variable SOAK, only the
// tests of the checker run:
//
//	SOAK=10m go test -run '^TestSoak$' -timeout 0 -v ./internal/soak
package soak

import (
	"testing"

	"animalstore/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
