//go:build !unix

package pgtest

import "syscall"

// procAttr exists so that tests that use this package compile everywhere. They run only on Unix.
func procAttr(int, int) *syscall.SysProcAttr { return nil }
