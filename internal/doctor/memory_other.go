//go:build !linux

package doctor

// memoryLimit never finds a limit, because only Linux has control groups.
func memoryLimit() (limit uint64, found bool) { return 0, false }
