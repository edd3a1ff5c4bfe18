//go:build !unix

package pgtest

import "syscall"

// procAttr does nothing. It exists so that tests that use this package compile on every platform, although
// they run only on Unix.
func procAttr(int, int) *syscall.SysProcAttr { return nil }
