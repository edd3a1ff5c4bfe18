//go:build !unix

package pgtest

import "syscall"

// apart is here so that tests which use this package compile everywhere; they run only on Unix.
func apart(int, int) *syscall.SysProcAttr { return nil }
