//go:build !linux && !darwin && !freebsd

package doctor

import "errors"

// freeSpace is not implemented for this system.
func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }

// sameDisk is not implemented for this system.
func sameDisk(string, string) bool { return false }
