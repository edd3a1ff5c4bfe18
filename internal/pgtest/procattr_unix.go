//go:build unix

package pgtest

import (
	"os"
	"syscall"
)

// procAttr lets a command run in a process group of its own and, where we are root, as another user.
func procAttr(uid, gid int) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if uid != os.Getuid() {
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return attributes
}
