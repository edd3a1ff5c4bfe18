//go:build !linux

package shoptest

import "testing"

// TempDir returns a directory for databases. The directory is removed when the test ends.
func TempDir(t testing.TB) string { return t.TempDir() }
