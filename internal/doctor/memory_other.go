//go:build !linux

package doctor

// memoryLimit is implemented for Linux only.
func memoryLimit() (limit uint64, found bool) { return 0, false }
