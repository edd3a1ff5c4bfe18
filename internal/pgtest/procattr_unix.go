//go:build unix

package pgtest

import (
	"os"
	"syscall"
)

// procAttr gives a command a process group of its own and, if this process is root, another user.
func procAttr(uid, gid int) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if uid != os.Getuid() {
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return attributes
}
