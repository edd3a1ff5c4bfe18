//go:build !unix

package pgtest

import "syscall"

// procAttr is here so that tests which use this package compile everywhere; they run only on Unix.
func procAttr(int, int) *syscall.SysProcAttr { return nil }
